// What Kubernetes makes of YAML: a JSON array of texts on stdin, on stdout for each text its JSON or the error of sigs.k8s.io/yaml.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

type answer struct {
	JSON  string `json:"json,omitempty"`
	Error string `json:"error,omitempty"`
}

func convert(text string) (result answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			result = answer{Error: fmt.Sprint("panic: ", panicked)}
		}
	}()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{JSON: string(converted)}
}

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answers := make([]answer, len(texts))
	for i, text := range texts {
		answers[i] = convert(text)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
