# The verdict on one Kubernetes object: `deny` for errors, `warn` for warnings, `inform` for infos. Each item carries msg, rule, path,
# severity and `at`, the path as an array. The rules are in the modules beside this one.
package gpuvet

import data.gpuvet.lib

deny contains item if {
	some item in verdict
	item.severity == "error"
}

warn contains item if {
	some item in verdict
	item.severity == "warning"
}

inform contains item if {
	some item in verdict
	item.severity == "info"
}

verdict contains item if {
	some violation in found
	not superseded(violation)
	path := lib.path_text(violation.at, object_at(violation.object))
	item := {
		"msg": sprintf("%s %s: %s", [violation.rule, path, violation.message]),
		"rule": violation.rule,
		"path": path,
		"at": array.concat(violation.object, violation.at),
		"severity": rules[violation.rule].severity,
	}
}

object_at(path) := [scope.object | some scope in lib.scopes; scope.at == path][0]

# One mistake, one finding: what a rule supersedes is silent at the same place, or on the same key in the same Pod template.
superseded(violation) if {
	some spot in spots(violation)
	[violation.rule, violation.object, spot] in shadowed
}

shadowed contains [other, violation.object, spot] if {
	some violation in found
	some other in rules[violation.rule].supersedes
	some spot in spots(violation)
}

spots(violation) := {violation.at} | {[{"template": violation.template, "key": key}] |
	key := violation.at[count(violation.at) - 1]
	is_string(key)
	contains(key, "/")
}
