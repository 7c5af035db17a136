// Evaluates ValidatingAdmissionPolicies with the code of the API server itself, in the CEL environment of a Kubernetes version, without a
// server: one line of JSON in, one line of JSON out. It tells what a server cannot: what an evaluation cost, and whether an
// expression compiles for an older version.
//
//	evaluate 1.30 < lines
//
// The first line is a list of policies; every other line is an object. For each object a list, per policy:
// {"matches": bool, "results": [{"value": ..., "error": ...}], "cost": n, "error": ...}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
)

const budget = int64(1) << 40

type accessor struct{ name, text string }

func (a accessor) GetName() string            { return a.name }
func (a accessor) GetExpression() string      { return a.text }
func (a accessor) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }

type policy struct {
	conditions cel.ConditionEvaluator
	results    cel.ConditionEvaluator
}

type result struct {
	Value any    `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

type answer struct {
	Matches bool     `json:"matches"`
	Results []result `json:"results,omitempty"`
	Cost    int64    `json:"cost"`
	Error   string   `json:"error,omitempty"`
}

func compile(given v1.ValidatingAdmissionPolicy, base *environment.EnvSet) policy {
	compiler, err := cel.NewCompositedCompiler(base)
	check(err)
	options := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, variable := range given.Spec.Variables {
		compiled := compiler.CompileAndStoreVariable(accessor{variable.Name, variable.Expression}, options, environment.StoredExpressions)
		if compiled.Error != nil {
			fail("%s: variable %s: %v", given.Name, variable.Name, compiled.Error)
		}
	}
	conditions := []cel.ExpressionAccessor{}
	for _, condition := range given.Spec.MatchConditions {
		conditions = append(conditions, tried(compiler, given.Name, accessor{condition.Name, condition.Expression}, options))
	}
	results := []cel.ExpressionAccessor{}
	for _, validation := range given.Spec.Validations {
		results = append(results, tried(compiler, given.Name, accessor{"", validation.Expression}, options))
		results = append(results, tried(compiler, given.Name, accessor{"", validation.MessageExpression}, options))
	}
	for _, annotation := range given.Spec.AuditAnnotations {
		results = append(results, tried(compiler, given.Name, accessor{annotation.Key, annotation.ValueExpression}, options))
	}
	return policy{
		compiler.CompileCondition(conditions, options, environment.StoredExpressions),
		compiler.CompileCondition(results, options, environment.StoredExpressions),
	}
}

func tried(compiler *cel.CompositedCompiler, name string, one accessor, options cel.OptionalVariableDeclarations) accessor {
	if compiled := compiler.CompileCELExpression(one, options, environment.StoredExpressions); compiled.Error != nil {
		fail("%s: %s: %v", name, one.text, compiled.Error)
	}
	return one
}

func (p policy) evaluate(object *unstructured.Unstructured) answer {
	kind := object.GroupVersionKind()
	attributes := admission.NewAttributesRecord(object, nil, kind, "default", object.GetName(), schema.GroupVersionResource{}, "",
		admission.Create, nil, false, &user.DefaultInfo{Name: "tester", Groups: []string{"system:authenticated"}})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: kind, VersionedObject: object}
	request := cel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource{}, metav1.GroupVersionKind(kind))
	bindings := cel.OptionalVariableBindings{}
	matched, _, err := p.conditions.ForInput(context.Background(), versioned, request, bindings, nil, budget)
	if err != nil {
		return answer{Error: err.Error()}
	}
	for _, one := range matched {
		if one.Error != nil {
			return answer{Error: one.Error.Error()}
		}
		if one.EvalResult.Value() != true {
			return answer{}
		}
	}
	evaluated, left, err := p.results.ForInput(context.Background(), versioned, request, bindings, nil, budget)
	if err != nil {
		return answer{Matches: true, Error: err.Error()}
	}
	found := answer{Matches: true, Cost: budget - left}
	for _, one := range evaluated {
		if one.Error != nil {
			found.Results = append(found.Results, result{Error: one.Error.Error()})
		} else {
			found.Results = append(found.Results, result{Value: fmt.Sprint(one.EvalResult.Value())})
		}
	}
	return found
}

func main() {
	base := environment.MustBaseEnvSet(version.MustParse(os.Args[1]))
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	var given []v1.ValidatingAdmissionPolicy
	decoder := json.NewDecoder(lines)
	check(decoder.Decode(&given))
	policies := []policy{}
	for _, one := range given {
		policies = append(policies, compile(one, base))
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	check(encoder.Encode(len(policies)))
	check(out.Flush())
	for decoder.More() {
		var text json.RawMessage
		check(decoder.Decode(&text))
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(text))
		answers := []answer{}
		for _, one := range policies {
			answers = append(answers, one.evaluate(object))
		}
		check(encoder.Encode(answers))
		check(out.Flush())
	}
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
