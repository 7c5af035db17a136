package gpuvet.lib_test

import data.gpuvet.lib

quantities := {
	"1": 1000000000,
	"007": 7000000000,
	" 4Gi ": 4294967296000000000,
	"-500m": -500000000,
	"1.5": 1500000000,
	".5": 500000000,
	"1n": 1,
	"0.1n": 1,
	"-0.1n": -1,
	"1e3": 1000000000000,
	"1E3": 1000000000000,
	"1E": 1000000000000000000000000000,
	"100E": lib.cap,
	"9223372036854775807": 9223372036854775807000000000,
	"9223372036854775808": lib.cap,
	"9223372036.854775807": 9223372036854775807,
	"1e-400": 1,
	"1e400": lib.cap,
	"Gi": 0,
	".": 0,
	"-": 0,
}

test_quantities if {
	every text, nanos in quantities {
		lib.quantity(text) == nanos
	}
}

test_no_quantities if {
	every text in ["", " ", "4GiB", "4 Gi", "1,5", "٣", "0x10", "1e", "1e3e", "--1", "1e99999999999999999999", null, true, [], {}] {
		lib.quantity(text) == null
	}
}

test_numbers_are_quantities if {
	lib.quantity(3) == 3000000000
	lib.quantity(0.5) == 500000000
	lib.quantity(9223372036854775808) == lib.cap
	lib.quantity(-9223372036854775808) == 0 - lib.cap
}

test_integers if {
	lib.integer("+08") == 8
	lib.integer("-9223372036854775808") == -9223372036854775808
	lib.integer("9223372036854775808") == null
	lib.integer(9223372036854775807) == 9223372036854775807
	lib.integer(2.5) == null
	lib.integer("1.0") == null
	lib.integer("١") == null
	lib.whole(9223372036854775807000000000) == 9223372036854775807
	lib.whole(-3000000000) == -3
	lib.whole(0) == 0
	lib.whole(1) == null
	lib.whole(null) == null
}

test_floored if {
	lib.floored(7, 2) == 3
	lib.floored(-7, 2) == -4
	lib.floored(7, -2) == -4
	lib.floored(0, 5) == 0
	lib.floored(9223372036854775807, 2) == 4611686018427387903
	lib.mod(-7, 5) == 3
	lib.mod(7, -5) == -3
	lib.mod(7, 0) == null
	lib.floored(7, 0) == null
	lib.floored(null, 1) == null
	lib.add(9223372036854775807000000000, 1) == 9223372036854775807000000001
}

test_versions if {
	lib.version("v1.48.0-rc1") == [1, 48]
	lib.version("470.161.03") == [470, 161, 3]
	lib.version("0.0") == [0]
	lib.version("1.") == null
	lib.version(1) == null
	lib.below(lib.version("1.9"), lib.version("1.10"))
	lib.below(lib.version("1.9"), lib.version("1.9.1"))
	not lib.below(lib.version("1.9"), null)
	not lib.up_to(null, null)
}

test_get if {
	lib.get({"a": [{"b": 1}]}, ["a", 0, "b"]) == 1
	lib.get({"a": [{"b": 1}]}, ["a", 1, "b"]) == null
	lib.get([1], [0]) == 1
	lib.get("text", ["a"]) == null
	lib.get(null, ["a"]) == null
	lib.get(lib.unknown, ["a"]) == lib.unknown
}

test_templates_are_unknown if {
	lib.get("{{ .Values.annotations }}", ["a"]) == lib.unknown with input as {"metadata": {"annotations": "{{ .Values.annotations }}"}}
	lib.get({"a": "${b}"}, ["a"]) == "${b}" with input as {"a": "${b}"}
	lib.get({"a": "${b}"}, ["a", "c"]) == lib.unknown with input as {"a": "${b}"}
	lib.opaque("$(A)") with input as {"a": "$(A)"}
	not lib.opaque("$A") with input as {"a": "$A"}
}

test_texts if {
	lib.lowered("ABC") == "abc"
	lib.lowered("ÄB") == "Äb"
	lib.lowered(1) == null
	lib.trimmed("\t a\n") == "a"
	lib.parts_of("a,b,", ",") == ["a", "b", ""]
	lib.parts_of("a", "") == []
	lib.append("a", 1) == "a1"
	lib.append("a", null) == null
	lib.size("äöü") == 3
	lib.size(7) == 0
}

test_matches_are_whole if {
	lib.matches("ab", lib.whole_pattern("a|ab"))
	not lib.matches("abc", lib.whole_pattern("a|ab"))
	not lib.matches("a\n", lib.whole_pattern("a"))
	not lib.matches("", lib.whole_pattern(null))
	not lib.matches(1, lib.whole_pattern("1"))
}

pod := {"spec": {
	"initContainers": [
		{"restartPolicy": "Always", "resources": {"limits": {"k": "2"}}},
		{"resources": {"requests": {"k": "5"}, "limits": {"k": "9"}}},
	],
	"containers": [{"resources": {"limits": {"k": 1}}}, {}],
	"overhead": {"k": "500m"},
}}

# The sidecar and the init container behind it (2 + 5) outweigh what runs later (2 + 1 + 0.5).
test_pod_sum if {
	lib.pod_sum(pod, "k") == 7000000000
	lib.pod_sum(pod, "other") == null
	lib.pod_total(pod, "k", [9000000000, null]) == 11500000000
}

test_paths if {
	root := {"spec": {"containers": [{"name": "main", "resources": {"limits": {"a.b/c": 1}}}, {}]}}
	lib.path_text(["spec", "containers", 0, "resources", "limits", "a.b/c"], root) == "spec.containers[main].resources.limits[a.b/c]"
	lib.path_text(["spec", "containers", 1, "name"], root) == "spec.containers[1].name"
	lib.path_text([], root) == ""
}
