# What rules judge: the objects of the input, their Pod templates, containers and metadata, and where all of them stand.
# Where the Pod templates of each kind stand is data, in tables.rego. The reference is validator/gpuvet/manifests/workloads.py and
# validator/gpuvet/engine/judge.py.
package gpuvet.lib

import data.gpuvet.tables

# ---- objects ----

is_list if {
	is_string(input.kind)
	endswith(input.kind, "List")
	is_array(input.items)
	not named_list
}

named_list if "name" in object.keys(input.metadata)

# The path and the value of each object: those of a list, or the input itself.
listed := [[["items", i], item_of_list(item)] | some i, item in input.items; is_object(item)] if {
	is_list
} else := [[[], input]] if {
	is_object(input)
} else := []

item_of_list(item) := object.union({"apiVersion": get(input, ["apiVersion"]), "kind": trim_suffix(input.kind, "List")}, item) if {
	input.kind != "List"
	not "kind" in object.keys(item)
} else := item

core := {
	"",
	"apps",
	"batch",
	"rbac.authorization.k8s.io",
	"storage.k8s.io",
	"policy",
	"networking.k8s.io",
	"scheduling.k8s.io",
}

kind_of(value) := value.kind if {
	is_string(value.kind)
} else := ""

# Group and version.
api_of(value) := ["", value.apiVersion] if {
	is_string(value.apiVersion)
	not contains(value.apiVersion, "/")
} else := [concat("/", array.slice(parts, 0, count(parts) - 1)), last(parts)] if {
	is_string(value.apiVersion)
	parts := split(value.apiVersion, "/")
} else := ["", null]

full_kind(value) := kind_of(value) if {
	api_of(value)[0] in core
} else := concat(".", [kind_of(value), api_of(value)[0]])

scopes := [scope |
	some [at, value] in listed
	views := views_of(value)
	scope := {
		"at": at,
		"object": value,
		"kind": full_kind(value),
		"views": views,
		"fragment": fragment(value, views),
	}
]

# ---- fragments ----

filled(value) if truth(value)

default fragment(_, _) := false

fragment(value, _) if not named(value)

fragment(value, _) if {
	kind_of(value) in {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}
	value.apiVersion == "apps/v1"
	is_object(value.spec)
	not "selector" in object.keys(value.spec)
}

fragment(_, views) if {
	some view in views
	open(view)
}

named(value) if {
	is_object(value.metadata)
	some key in ["name", "generateName"]
	filled(get(value.metadata, [key]))
}

open(view) if {
	view.validated != "none"
	items_or_none(view.spec, "containers") == []
}

open(view) if {
	view.validated != "none"
	some container in items_or_none(view.spec, "containers")
	is_object(container)
	some key in ["name", "image"]
	not filled(get(container, [key]))
}

items_or_none(map, key) := map[key] if {
	is_array(map[key])
} else := []

# ---- Pod templates ----

rows_of(value) := object.get(tables.rows, [api_of(value)[0], kind_of(value)], []) if {
	is_string(value.apiVersion)
} else := []

row_of(value) := [row |
	some row in rows_of(value)
	fits(row, api_of(value)[1])
][0]

fits(row, _) if row.versions == ["*"]

fits(row, version_name) if version_name in row.versions

views_of(value) := [view |
	row := row_of(value)
	some plan in row.plans
	some item in read_items(value, plan.group)
	view := view_of(item, plan, row)
]

# The items that a plan is read for: every `[*]` stands for the items of a list or the values of a map.
read_items(root, groups) := [{"root": root, "at": [], "value": root, "key": ""}] if {
	groups == []
} else := [item |
	some [at, value, key] in stars(stars(stars(stars([[[], root, ""]], groups, 0), groups, 1), groups, 2), groups, 3)
	is_object(value)
	item := {"root": root, "at": at, "value": value, "key": key}
]

# One more group of keys with the `[*]` behind it.
stars(found, groups, depth) := found if {
	count(groups) <= depth
} else := [[array.concat(array.concat(at, groups[depth]), [key]), item, name] |
	some [at, value, _] in found
	some key, item in items(object.get({"": value}, array.concat([""], groups[depth]), null))
	name := star_name(key)
]

star_name(key) := key if {
	is_string(key)
} else := json.marshal(key)

read(item, ref) := object.get(item.value, ref.keys, null) if {
	ref.own
} else := object.get(item.root, ref.keys, null)

place(item, ref) := array.concat(item.at, ref.keys) if {
	ref.own
} else := ref.keys

view_of(item, plan, row) := over(shape, {
	"name": name_of(item, plan),
	"validated": row.validated,
	"partial": plan.partial,
	"scheduler": scheduler_of(item.root, row),
	"scheduler_at": row.scheduler,
}) if {
	shape := shape_of(item, plan)
}

scheduler_of(root, row) := named_scheduler if {
	row.scheduler != []
	named_scheduler := object.get(root, row.scheduler, null)
	is_string(named_scheduler)
	named_scheduler != ""
} else := null

name_of(item, plan) := plan.label if {
	plan.label != ""
} else := named_slot if {
	plan.name != null
	named_slot := read(item, plan.name)
	is_string(named_slot)
	named_slot != ""
} else := item.key

shape_of(item, plan) := {
	"spec": map_or_empty(spec),
	"spec_at": place(item, plan.spec),
	"metadata": map_or_empty(metadata),
	"metadata_at": metadata_at,
	"moved": [],
	"plain": true,
} if {
	plan.plain
	spec := read(item, plan.spec)
	metadata := read_some(item, plan.metadata)
	some part in [spec, metadata]
	is_object(part)
	metadata_at := place_of_some(item, plan.metadata, place(item, plan.spec))
} else := {
	"spec": joined.spec,
	"spec_at": joined.at,
	"metadata": metadata.value,
	"metadata_at": place_of_some(item, plan.metadata, joined.at),
	"moved": array.concat(joined.moved, metadata.moved),
	"plain": false,
} if {
	not plan.plain
	joined := joined_spec(item, plan)
	metadata := joined_metadata(item, plan)
}

map_or_empty(value) := value if {
	is_object(value)
} else := {}

read_some(item, refs) := read(item, last(refs)) if {
	refs != []
} else := null

place_of_some(item, refs, _) := place(item, last(refs)) if {
	refs != []
}

place_of_some(_, refs, otherwise) := otherwise if refs == []

# ---- templates that have to be put together ----

joined_spec(item, plan) := {"spec": spec, "at": spec_at, "moved": moved} if {
	exists_at(item, plan)
	base := base_of(item, plan)
	base != null
	spec_at := base_at(item, plan, base)
	fields := {name: [value, at] |
		some [name, refs] in plan.fields
		[value, at] := [[value, at] |
			some ref in refs
			value := read(item, ref)
			value != null
			at := place(item, ref)
		][0]
	}
	with_fields := over(base.spec, {name: field[0] | some name, field in fields})
	containers := array.concat(
		containers_at(object.get(with_fields, "containers", null), array.concat(spec_at, ["containers"])),
		[entry | some source in plan.containers; some entry in source_containers(item, source)],
	)
	starting := array.concat(
		containers_at(object.get(with_fields, "initContainers", null), array.concat(spec_at, ["initContainers"])),
		[entry | some ref in plan.init_containers; some entry in containers_at(read(item, ref), place(item, ref))],
	)
	something(containers, plan)
	spec := over(
		with_fields,
		over(
			{name: [entry.value | some entry in containers] | some name in ["containers"]; containers != []},
			{name: [entry.value | some entry in starting] | some name in ["initContainers"]; starting != []},
		),
	)
	moved := join([
		[[["spec", name], field[1]] | some name, field in fields],
		[moved_part |
			some i, entry in containers
			some [below, at] in array.concat([[[], entry.at]], entry.parts)
			moved_part := [array.concat(["spec", "containers", i], below), at]
		],
		[[["spec", "initContainers", i], entry.at] | some i, entry in starting],
	])
}

something(containers, _) if containers != []

something(_, plan) if plan.spec != null

exists_at(_, plan) if plan.at == null

exists_at(item, plan) if is_object(read(item, plan.at))

base_of(item, plan) := {"spec": json.remove(value, plan.taken_out), "read": true} if {
	plan.spec != null
	value := read(item, plan.spec)
	is_object(value)
} else := {"spec": {}, "read": false} if {
	plan.at != null
} else := null

base_at(item, plan, base) := place(item, plan.spec) if {
	base.read
} else := place(item, plan.at)

# A container, or a list of them, each with its place.
containers_at(value, at) := [{"value": value, "at": at, "parts": []}] if {
	is_object(value)
} else := [{"value": container, "at": array.concat(at, [i]), "parts": []} |
	is_array(value)
	some i, container in value
	is_object(container)
]

source_containers(item, source) := containers_at(read(item, source.ref), place(item, source.ref)) if {
	source.ref != null
} else := made(item, source)

# A container that the operator makes from single fields.
made(item, source) := [{
	"value": object.union_n([{"name": source.name}, {name: part[0] | some name, part in fields}, gpu.value]),
	"at": place(item, source.at),
	"parts": array.concat([[[name], part[1]] | some name, part in fields], gpu.parts),
}] if {
	fields := {name: [value, place(item, ref)] |
		some name in ["image", "resources"]
		ref := source[name]
		ref != null
		value := read(item, ref)
		value != null
	}
	gpu := made_gpu(item, source)
}

made_gpu(item, source) := {
	"value": {"resources": {"limits": {resource: number}}},
	"parts": [
		[["resources"], at],
		[["resources", "limits"], at],
		[["resources", "limits", resource], array.concat(at, ["quantity"])],
	],
} if {
	source.gpu != null
	wanted := read(item, source.gpu)
	is_object(wanted)
	resource := object.get(wanted, "name", null)
	is_string(resource)
	number := object.get(wanted, "quantity", null)
	number != null
	at := place(item, source.gpu)
} else := {"value": {}, "parts": []}

joined_metadata(item, plan) := {"value": value, "moved": moved} if {
	sources := [[part, entries, array.concat(place(item, ref), [part])] |
		some part in ["annotations", "labels"]
		some ref in plan.metadata
		map := read(item, ref)
		is_object(map)
		entries := object.get(map, part, null)
		entries != null
	]
	value := {part: entries |
		some part in {source[0] | some source in sources}
		entries := joined_entries([source[1] | some source in sources; source[0] == part])
	}
	moved := array.concat(
		[[["metadata", source[0]], source[2]] | some source in sources],
		[[["metadata", source[0], key], array.concat(source[2], [key])] |
			some i, source in sources
			is_object(source[1])
			key_counts(sources, i)
			some key, _ in source[1]
		],
	)
}

# What is no map replaces everything before it, and is replaced by everything behind it.
joined_entries(listed_entries) := object.union_n(array.slice(listed_entries, first_after_odd(listed_entries), count(listed_entries))) if {
	is_object(last(listed_entries))
} else := last(listed_entries)

first_after_odd(listed_entries) := max({0} | {behind | some i, entries in listed_entries; not is_object(entries); behind := i + 1})

key_counts(_, 0)

key_counts(sources, i) if {
	i > 0
	not odd_before(sources, i)
}

odd_before(sources, i) if {
	sources[i - 1][0] == sources[i][0]
	not is_object(sources[i - 1][1])
}

# ---- subjects ----

key_tokens(keys) := keys | {token |
	some key in keys
	parts := split(key, "/")
	count(parts) > 1
	some token in [
		concat("/", array.concat(array.slice(parts, 0, count(parts) - 1), ["*"])),
		concat("/", ["*", last(parts)]),
	]
}

map_keys(map) := {key | some part in items(map); is_object(part); some key, _ in part}

container_keys(container) := {key |
	some key in map_keys(map_or_empty(object.get(map_or_empty(container), "resources", null)))
	not key in {"cpu", "memory", "ephemeral-storage"}
}

placement_keys(spec) := (selector | tolerated) | named_keys(get(spec, ["affinity", "nodeAffinity"])) if {
	selector := object.keys(map_or_empty(object.get(spec, "nodeSelector", null)))
	tolerated := {key | some toleration in items(object.get(spec, "tolerations", null)); key := get(toleration, ["key"]); is_string(key)}
}

named_keys(value) := {key | walk(value, [_, node]); is_object(node); key := node.key; is_string(key)}

image_names(spec) := {token |
	some container in items(object.get(spec, "containers", null))
	image := get(container, ["image"])
	is_string(image)
	token := concat("", ["image:", split(split(last(split(image, "/")), "@")[0], ":")[0]])
}

# Every key with a slash and every text under `key`, but not inside the Pod templates.
all_keys(value, skipped) := {key |
	walk(value, [path, node])
	path != []
	some key in shown_by(last(path), node)
	not inside(path, skipped)
}

shown_by(name, _) := {name} | {short |
	some prefix in ["requests.", "limits."]
	startswith(name, prefix)
	short := substring(name, count(prefix), -1)
} if {
	is_string(name)
	contains(name, "/")
}

shown_by("key", node) := {node} if is_string(node)

inside(path, skipped) if {
	some at in skipped
	count(at) < count(path)
	array.slice(path, 0, count(at)) == at
}

kind_token(scope) := concat("", ["kind:", scope.kind])

object_subjects := [subject |
	some scope in scopes
	value := scope.object
	skipped := {["metadata", "managedFields"]} | {at |
		some view in scope.views
		view.plain
		some [at, _] in [[view.spec_at, 0], [pick(view.metadata_at == ["metadata"], view.spec_at, view.metadata_at), 0]]
	}
	name := get(value, ["metadata", "name"])
	subject := {
		"value": value,
		"pod": null,
		"object": value,
		"template": {},
		"kind": scope.kind,
		"fragment": scope.fragment,
		"own": [],
		"view": null,
		"scope": scope,
		"tokens": ((key_tokens(all_keys(value, skipped)) | {kind_token(scope)}) | {concat("", ["name:", name]) | is_string(name)}),
	}
]

own_pod(scope) if {
	some view in scope.views
	view.metadata_at == ["metadata"]
}

metadata_subjects := array.concat(
	[subject |
		some scope in scopes
		metadata := object.get(scope.object, "metadata", null)
		is_object(metadata)
		not own_pod(scope)
		subject := {
			"value": metadata,
			"pod": null,
			"object": scope.object,
			"template": {},
			"kind": scope.kind,
			"fragment": scope.fragment,
			"own": ["metadata"],
			"view": null,
			"scope": scope,
			"tokens": (key_tokens(map_keys(metadata)) | {kind_token(scope)}),
		}
	],
	[over(subject, {
		"value": subject.view.metadata,
		"own": ["metadata"],
		"tokens": (key_tokens(map_keys(subject.view.metadata)) | {kind_token(subject.scope)}),
	}) |
		some subject in pod_subjects
		subject.view.metadata != {}
	],
)

pod_subjects := [subject |
	some scope in scopes
	some view in scope.views
	pod := {"metadata": view.metadata, "spec": view.spec}
	keys := union({
		map_keys(view.metadata),
		placement_keys(view.spec),
		container_keys(view.spec),
		{key |
			some name in ["initContainers", "containers"]
			some container in items_or_none(view.spec, name)
			some key in container_keys(container)
		},
	})
	subject := {
		"value": pod,
		"pod": pod,
		"object": scope.object,
		"template": {
			"name": view.name,
			"kind": scope.kind,
			"validated": view.validated,
			"scheduler": view.scheduler,
		},
		"kind": scope.kind,
		"fragment": some_true([scope.fragment, view.partial]),
		"own": [],
		"view": view,
		"scope": scope,
		"tokens": ((key_tokens(keys) | image_names(view.spec)) | {kind_token(scope)}),
	}
]

container_subjects := [over(subject, {
	"value": container,
	"own": ["spec", name, i],
	"tokens": (key_tokens(container_keys(container)) | {kind_token(subject.scope)}),
}) |
	some subject in pod_subjects
	some name in ["initContainers", "containers"]
	some i, container in items_or_none(subject.view.spec, name)
	is_object(container)
	container_keys(container) != set()
]

# ---- verdicts ----

# Whether a violation rests on what is not known, or, in a fragment, on what is not there.
default undecided(_, _) := false

undecided(subject, because) if {
	subject.fragment
	null in because
}

undecided(_, because) if {
	some value in because
	opaque(value)
}

# Of several reasons each of which is enough (null: it does not hold), the first that is decided, else the first.
reason(subject, reasons) := [why | some why in reasons; why != null; not undecided(subject, why)][0] if {
	true
} else := [why | some why in reasons; why != null][0] if {
	true
} else := []

view_path(view, path) := array.concat(longest[1], array.slice(path, count(longest[0]), count(path))) if {
	fitting := [entry | some entry in view.moved; array.slice(path, 0, count(entry[0])) == entry[0]]
	fitting != []
	most := max([count(entry[0]) | some entry in fitting])
	longest := last([entry | some entry in fitting; count(entry[0]) == most])
} else := array.concat(view.metadata_at, array.slice(path, 1, count(path))) if {
	path[0] == "metadata"
} else := array.concat(view.spec_at, array.slice(path, 1, count(path)))

# The path in the object of a place that starts with the name of a root.
path_of(subject, at) := located_path(subject, at[0], array.slice(at, 1, count(at)))

located_path(subject, "object", path) := path if is_object(subject)

located_path(subject, "pod", path) := view_path(subject.view, path)

located_path(subject, "template", _) := subject.view.scheduler_at

located_path(subject, "self", path) := view_path(subject.view, array.concat(subject.own, path)) if {
	subject.view != null
} else := array.concat(subject.own, path)

# The path as people write it; a list item that has a name is called by it.
path_text(path, root) := concat("", [part |
	some i, key in path
	part := path_part(i, key, object.get(root, array.slice(path, 0, i + 1), null))
])

path_part(i, key, value) := sprintf("[%s]", [value.name]) if {
	is_number(key)
	is_string(value.name)
	value.name != ""
} else := sprintf("[%d]", [key]) if {
	is_number(key)
} else := sprintf("[%s]", [key]) if {
	regex.match(`[./\[]`, key)
} else := key if {
	i == 0
} else := concat("", [".", key])

template_name(subject) := subject.view.name if {
	subject.view != null
} else := ""

finding(subject, rule, place_, message) := {
	"rule": rule,
	"object": subject.scope.at,
	"at": path_of(subject, place_),
	"template": template_name(subject),
	"message": message,
}
