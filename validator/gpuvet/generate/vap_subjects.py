"""What the variables of a ValidatingAdmissionPolicy hold besides the rules: the object, its Pod templates, its containers, what they show.

Everything is made sure to be of its type here, once, so that rules can be short. The reference is `gpuvet.manifests.workloads`,
`gpuvet.engine.judge` and `gpuvet.engine.shown`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from gpuvet.engine.conditions import OTHERS, WHOLE
from gpuvet.engine.judge import kind_name
from gpuvet.generate import vap_joined as joined
from gpuvet.generate.vap_walk import keys_of
from gpuvet.language import ir
from gpuvet.language.printers import cel_totals as total
from gpuvet.language.printers.cel import Printer, Scope, Shared, total_of_pod
from gpuvet.language.printers.cel_totals import quoted
from gpuvet.manifests import workloads
from gpuvet.manifests.workloads import Row
from gpuvet.values.quantity import NANOS

BUILT_IN = frozenset(("", "apps", "batch"))
"""Groups whose objects the API server knows: never a fragment, and one Pod template each."""
_CORE = ("apps", "batch", "rbac.authorization.k8s.io", "storage.k8s.io", "policy", "networking.k8s.io", "scheduling.k8s.io")
ORDINARY = ("cpu", "memory", "ephemeral-storage")

ONE = Scope("pod", "variables.", typed=True)
SEVERAL = Scope("pod", "s.", several=True, fragment="(variables.fragment || s.partial)")


def of_object() -> dict[str, str]:
    """What every policy has."""
    group = "[variables.object.apiVersion].map(a, a.contains('/') ? a.substring(0, a.indexOf('/')) : '')[0]"
    core = total.literal(["", *_CORE])
    return {
        "digits": quoted(total.DIGITS),
        "object": "dyn(object)",
        "kind": f"[{group}].map(g, variables.object.kind + (g in {core} ? '' : '.' + g))[0]",
        "own_metadata": "variables.object.metadata",
        "own_annotations": clean("variables.own_metadata[?'annotations'].orValue(dyn(null))"),
        "own_labels": clean("variables.own_metadata[?'labels'].orValue(dyn(null))"),
        "own_templated": templated(""),
        **of_change(),
    }


def of_change() -> dict[str, str]:
    """What an update changes: a violation that rests on what was there before passes. Nobody is asked about the status, nor about keys of
    domains that no rule reads."""
    other = "k != 'metadata' && k != 'status'"
    values = f"variables.object.exists(k, {other} && variables.old[?k].orValue(dyn(null)) != variables.object[k])"
    gone = f"variables.old.exists(k, {other} && !(k in variables.object))"
    return {
        "old": "dyn(oldObject)",
        "domains": "dyn([])",
        "changed_metadata": f"variables.old == null || {differ('variables.own_metadata', 'variables.old.metadata')}",
        "changed_object": f"variables.changed_metadata || {values} || {gone}",
    }


def differ(new: str, old: str) -> str:
    """Whether a key that rules may read has another value in one of the maps of some metadata."""
    ours = "(k.split('/')[0] in variables.domains || k.endsWith('/node.usage'))"
    other = f"[{old}[?p].orValue(dyn(null))].exists(o, type(o) != map || o[?k].orValue(dyn(null)) != {new}[p][k])"
    changed = f"{new}.exists(p, type({new}[p]) == map && {new}[p].exists(k, {ours} && {other}))"
    there = f"[{new}[?p].orValue(dyn(null))].exists(n, type(n) == map && k in n)"
    return f"{changed} || {old}.exists(p, type({old}[p]) == map && {old}[p].exists(k, {ours} && !{there}))"


def clean(value: str) -> str:
    """The value if it is a map, else an empty one."""
    return f"[{value}].map(m, type(m) == map ? m : dyn({{}}))[0]"


def _at(root: str, keys: Iterable[str], of: str = "object") -> str:
    """What stands at a place, total."""
    expr: ir.Expr = ir.Root("object") if of == "object" else ir.Name("item")
    for key in keys:
        expr = ir.Get(expr, ir.Constant(key))
    printer = Printer(Scope("object", value="variables.object"), {}, _no_field, Shared())
    from gpuvet.language.printers.cel import _Bound

    printer.bound["item"] = _Bound(root, "null", "''")
    return printer.value(expr).text


def _no_field(name: str) -> Any:
    raise AssertionError(name)


def of_one_template(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, str]:
    """The Pod template of a built-in kind."""
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for row in rows:
        (plan,) = workloads.plans(row)
        assert plan.spec is not None
        places.setdefault((plan.metadata[0].keys, plan.spec.keys), []).append(kind_name(row.group, row.kind))

    def chosen(what: list[str]) -> str:
        text = what[-1]
        for (_, kinds), one in reversed([*zip(places.items(), what, strict=True)][:-1]):
            text = f"variables.kind in {total.literal(kinds)} ? {one} : {text}"
        return text

    found = {
        "spec": clean(chosen([_optional(spec) for _, spec in places])),
        "metadata": clean(chosen([_optional(metadata) for metadata, _ in places])),
        "spec_at": chosen([quoted(".".join(spec)) for _, spec in places]),
        "metadata_at": chosen([quoted(".".join(metadata)) for metadata, _ in places]),
        "template_name": "dyn('')",
        "template_validated": "dyn('api')",
        "template_scheduler": "dyn(null)",
        "scheduler_at": "''",
    }
    before = {
        name: clean(chosen([_optional(way[number], "variables.old") for way in places])) for number, name in enumerate(("metadata", "spec"))
    }
    same = f"variables.spec == {before['spec']} && [{before['metadata']}].all(m, !({differ('variables.metadata', 'm')}))"
    found["changed_template"] = f"variables.old == null || !({same})"
    found |= _parts("variables.")
    found["starting"] = containers("variables.spec[?'initContainers'].orValue(dyn(null))", "variables.spec_at + '.initContainers'", keys)
    found["regular"] = containers("variables.spec[?'containers'].orValue(dyn(null))", "variables.spec_at + '.containers'", keys)
    found["tokens"] = _tokens("variables.")
    found["templated"] = templated("variables.")
    found |= _sums("variables.", keys)
    return found


def _optional(keys: Sequence[str], root: str = "variables.object") -> str:
    return root + "".join(f"[?'{key}']" for key in keys) + ".orValue(dyn(null))"


def of_several_templates(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, str]:
    """The Pod templates of other kinds: lists of one value a template."""
    slots = joined.slots_of(rows, True)
    found = joined.variables(rows)
    found["slots"] = joined.table(slots, joined.read_plain())
    found["slotted"] = f"variables.slots.map(r, {_expanded(slots)})"
    found["all_raw"] = f"{joined.each_slot('slotted', slots)} + variables.mixed_raw"
    metadata = f"[{clean('t.metadata')}].all(n, [{clean('x.metadata')}].all(m, !({differ('n', 'm')})))"
    unchanged = f"x.old && x.template_name == t.template_name && x.spec == t.spec && {metadata}"
    found["raw"] = f"variables.all_raw.filter(t, !t.old && !variables.all_raw.exists(x, {unchanged}))"
    places = {f"{name}_at": f"t.mixed < 0 ? t.{name}_at : {joined.mark('t.mixed')} + '.{name}'" for name in ("spec", "metadata")}
    record = _record({"number": "i", "t": "t", "spec": clean("t.spec"), "metadata": clean("t.metadata"), **places})
    found["templates"] = f"{total.numbers('variables.raw')}.map(i, [variables.raw[i]].map(t, {record})[0])"
    parts = _parts("b.")
    for name, part in (("starting", "initContainers"), ("regular", "containers")):
        parts[name] = containers(f"b.spec[?'{part}'].orValue(dyn(null))", f"b.spec_at + '.{part}'", keys, several=True)
    same = {name: f"b.t.{name}" for name in ("template_name", "template_validated", "template_scheduler", "scheduler_at", "partial")}
    same |= {name: f"b.{name}" for name in ("number", "spec", "metadata", "spec_at", "metadata_at")}
    fields = {**same, **parts}
    found["pods"] = "variables.templates.map(b, {" + ", ".join(f"'{name}': dyn({text})" for name, text in fields.items()) + "})"
    empty = "(x == null || x == '' || x == 0 || x == false || x == [] || x == {})"
    lacks = f"['name', 'image'].exists(k, [c.v[?k].orValue(dyn(null))].exists(x, {empty}))"
    found["fragment"] = (
        "variables.pods.exists(s, s.template_validated != 'none' && (type(s.spec[?'containers'].orValue(dyn(null))) != list || "
        f"size(s.spec.containers) == 0 || s.regular.exists(c, type(c.v) == map && {lacks})))"
    )
    found["tokens"] = f"variables.pods.map(s, {_tokens('s.')})"
    found["templated"] = f"variables.pods.map(s, {templated('s.')})"
    found |= {name: f"variables.pods.map(s, {text})" for name, text in _sums("s.", keys).items()}
    found["mixed_moved"] = joined.moved()
    return found


def _expanded(slots: Sequence[dict[str, str]]) -> str:
    """The templates of a slot `r`."""

    def way(root: str, part: str) -> str:
        return joined.walk(root, f"r.{part}", max(slot[part].count(".") + 1 for slot in slots))

    name = f"[{way('i', 'name')}].map(t, r.label != '' ? r.label : type(t) == string && t != '' ? t : type(k) == string ? k : string(k))[0]"
    fields = {
        "mixed": "-1",
        "old": "r.old",
        "spec": way("i", "spec"),
        "metadata": way("i", "metadata"),
        "spec_at": "w + r.spec_text",
        "metadata_at": "w + r.metadata_text",
        "template_name": name,
        "template_validated": "r.validated",
        "template_scheduler": f"[{way('r.root', 'scheduler')}].map(t, type(t) == string && t != '' ? t : null)[0]",
        "scheduler_at": "r.scheduler_text",
        "partial": "r.partial",
    }
    made = f"[e[0]].map(k, [e[1]].map(i, [e[2]].map(w, {_record(fields)})[0])[0])[0]"
    return f"{joined.items_of(joined.deepest(slots))}.map(e, {made}).filter(t, type(t.spec) == map || type(t.metadata) == map)"


def _record(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': dyn({text})" for name, text in fields.items()) + "}"


def _parts(prefix: str) -> dict[str, str]:
    return {
        "annotations": clean(f"{prefix}metadata[?'annotations'].orValue(dyn(null))"),
        "labels": clean(f"{prefix}metadata[?'labels'].orValue(dyn(null))"),
        "selector": clean(f"{prefix}spec[?'nodeSelector'].orValue(dyn(null))"),
    }


def containers(listed: str, place: str, keys: Sequence[str], several: bool = False) -> str:
    """Records of containers: value, number, place, limits, requests, and the amounts of the resources that rules count.

    `several`: of one of many Pod templates, `b.t`, which may have been put together.
    """
    resources = f"[type(x) == map ? x[?'resources'].orValue(dyn(null)) : null].map(r, {clean('r')})[0]"
    at = f"{place} + {total.item_word('x', 'i')}"
    first = {
        "v": "x",
        "n": "i",
        "at": at,
        "sidecar": "type(x) == map && x[?'restartPolicy'].orValue(dyn(null)) == 'Always'",
        "resources": resources,
    }
    if several:
        # By their numbers: containers from several places may have one name.
        first["at"] = f"b.t.mixed < 0 ? {at} : {place} + '[' + string(i) + ']'"
    base = _record(first)
    kept = tuple(first)
    maps = {name: f"c.{name}" for name in kept}
    maps |= {name: clean(f"c.resources[?'{name}'].orValue(dyn(null))") for name in ("limits", "requests")}
    text = f"[{listed}].map(l, type(l) == list ? {total.numbers('l')}.map(i, [l[i]].map(x, {base})[0]) : [])[0].map(c, {_record(maps)})"
    if not keys:
        return text
    same = {name: f"c.{name}" for name in (*kept, "limits", "requests")}
    amounts = {
        f"{name}_of": f"{_names(keys)}.map(r, [c.{name}[?r].orValue(dyn(null))].map(v, {total.quantity('v')})[0])"
        for name in ("limits", "requests")
    }
    text += f".map(c, {_record(same | amounts)})"
    same |= {name: f"c.{name}" for name in amounts}
    asked = f"{_count(keys)}.map(n, c.requests[?{_names(keys)}[n]].orValue(dyn(null)) == null ? c.limits_of[n] : c.requests_of[n])"
    return text + f".map(c, {_record({**same, 'asked': asked})})"


def _names(keys: Sequence[str]) -> str:
    return total.literal(list(keys))


def _count(keys: Sequence[str]) -> str:
    return total.literal(list(range(len(keys))))


def _sums(prefix: str, keys: Sequence[str]) -> dict[str, str]:
    """Per resource: what the Pod asks for."""
    if not keys:
        return {}
    over = (
        f"[{prefix}spec[?'overhead'].orValue(dyn(null))].map(o, {_names(keys)}.map(r, type(o) == map ? o[?r].orValue(dyn(null)) : null))[0]"
    )
    several = prefix == "s."
    overhead = "variables.overhead[s.number]" if several else "variables.overhead"
    one = total_of_pod(f"{prefix}starting.map(c, [c.asked[n], c.sidecar])", f"{prefix}regular.map(c, c.asked[n])", f"{overhead}[n]")
    whole = total.literal([NANOS if "/" in key and "kubernetes.io/" not in key else 1 for key in keys])
    given = f"c[w][?{_names(keys)}[n]].orValue(dyn(null)) != null"
    odd = f"{given} && (c[w + '_of'][n] == null || c[w + '_of'][n][1] % {whole}[n] != 0)"
    return {
        "odd_amounts": f"{_count(keys)}.map(n, ({prefix}starting + {prefix}regular).exists(c, ['limits', 'requests'].exists(w, {odd})))",
        "overhead": f"{over}.map(v, {total.quantity('v')})",
        "sums": f"{_count(keys)}.map(n, {one})",
    }


def _tokens(prefix: str) -> str:
    """The keys that a Pod template shows."""
    return f"({_metadata_tokens(f'{prefix}metadata')} + {_placement(prefix)} + {_resources(f'{prefix}spec')} + {_of_containers(prefix)})"


def templated(prefix: str) -> str:
    """Whether a template engine still has something to fill in, in a value that rules read."""
    open_ = total.opaque("x")
    maps = (
        [f"{prefix}{name}" for name in ("annotations", "labels", "selector")]
        if prefix
        else ["variables.own_annotations", "variables.own_labels"]
    )
    tests = [f"[{', '.join(maps)}].exists(m, m.exists(k, {_OURS.replace('K', 'k')} && [m[k]].exists(x, {open_})))"]
    if prefix:
        tests.append(f"[{prefix}metadata, {prefix}spec].exists(m, m.exists(k, [m[k]].exists(x, {open_})))")
        amounts = f"[c.v, c.resources, c.limits, c.requests].exists(m, type(m) == map && m.exists(k, [m[k]].exists(x, {open_})))"
        tests.append(f"({prefix}starting + {prefix}regular).exists(c, {amounts})")
        listed = f"[{prefix}spec[?'tolerations'].orValue(dyn(null))].map(v, {total.items('v')})[0]"
        tests.append(f"{listed}.exists(e, type(e) == map && e.exists(k, [e[k]].exists(x, {open_})))")
        affinity = _at(f"{prefix}spec", ("affinity",), "item")
        inner = "type(m[k]) == map && m[k].exists(j, [m[k][j]].exists(x, OPEN))".replace("OPEN", open_)
        tests.append(f"[{affinity}].exists(m, type(m) == map && m.exists(k, [m[k]].exists(x, {open_}) || {inner}))")
        terms = f"{_terms(prefix)}.map(p, {_HELD})"
        values = f"e.exists(k, [e[k]].exists(x, {open_} || type(x) == list && x.exists(x, {open_})))"
        tests.append(f"{terms}.exists(l, l.exists(v, {total.items('v')}.exists(e, type(e) == map && {values})))")
    return " || ".join(tests)


_OURS = "K.contains('/')"


def _terms(prefix: str) -> str:
    def of_items(value: str) -> str:
        return f"[{value}].map(v, {total.items('v')})[0]"

    affinity = _at(f"{prefix}spec", ("affinity", "nodeAffinity"), "item")
    required = _at("a", ("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"), "item")
    preferred = _at("a", ("preferredDuringSchedulingIgnoredDuringExecution",), "item")
    preferences = f"{of_items(preferred)}.map(p, type(p) == map ? p[?'preference'].orValue(dyn(null)) : null)"
    return f"[{affinity}].map(a, {of_items(required)} + {preferences})[0]"


_HELD = "['matchExpressions', 'matchFields'].map(w, type(p) == map ? p[?w].orValue(dyn(null)) : null)"


_NAMED = "filter(e, type(e) == map && type(e[?'key'].orValue(dyn(null))) == string).map(e, e['key'])"


def _flat(lists: str) -> str:
    return f"{lists}.map(t, t.join('\\n')).join('\\n').split('\\n')"


def _metadata_tokens(metadata: str) -> str:
    return _flat(f"{metadata}.filter(k, type({metadata}[k]) == map).map(k, {metadata}[k].map(j, j))")


def _resources(holder: str) -> str:
    listed = f"[{holder}[?'resources'].orValue(dyn(null))].filter(r, type(r) == map)"
    extended = f"filter(j, !(j in {total.literal(list(ORDINARY))})).map(j, j)"
    return _flat(f"{listed}.map(r, r.filter(k, type(r[k]) == map).map(k, r[k].{extended}.join('\\n')))")


def _of_containers(prefix: str) -> str:
    ordinary = total.literal(list(ORDINARY))
    one = f"c.resources.filter(k, type(c.resources[k]) == map).map(k, c.resources[k].filter(j, !(j in {ordinary})).map(j, j).join('\\n'))"
    return _flat(f"({prefix}starting + {prefix}regular).map(c, {one})")


def container_tokens() -> str:
    """The keys that a container shows."""
    ordinary = total.literal(list(ORDINARY))
    return _flat(f"c.resources.filter(k, type(c.resources[k]) == map).map(k, c.resources[k].filter(j, !(j in {ordinary})).map(j, j))")


def _placement(prefix: str) -> str:
    def of_items(value: str) -> str:
        return f"[{value}].map(v, {total.items('v')})[0]"

    tolerated = f"{of_items(prefix + 'spec[?' + repr('tolerations') + '].orValue(dyn(null))')}"
    nested = f"{_terms(prefix)}.map(p, {_HELD}.map(v, {total.items('v')}).map(l, l.{_NAMED}.join('\\n')))"
    return f"{prefix}selector.map(k, k) + {tolerated}.{_NAMED} + {_flat(nested)}"


def own_tokens() -> str:
    """The keys that an object without a Pod template shows."""
    maps = []
    for other in OTHERS:
        for place in (*other.maps, *other.key_lists):
            value = _at("variables.object", place.split("."))
            listed = (
                f"[{value}].map(v, type(v) == map ? v.map(k, k) : [])[0]"
                if place in other.maps
                else f"[{value}].map(v, {total.items('v')})[0].{_NAMED}"
            )
            maps.append(f"(variables.kind == {quoted(other.kind)} ? {listed} : [])")
    # The kinds of Kubernetes itself are many objects and long ones, and their keys have places that are known.
    anywhere = [other.kind for other in (*OTHERS, *WHOLE) if other in WHOLE or "." in other.kind]
    walked = f"(variables.kind in {total.literal(anywhere)} ? {keys_of('variables.object')} : [])"
    return " + ".join([own_metadata_tokens(), *maps, walked])


def own_metadata_tokens() -> str:
    """The keys in the metadata of an object."""
    return _metadata_tokens("variables.own_metadata")


def shows(tokens: str, triggers: Iterable[tuple[str, str]], prefix: str | None) -> str:
    """Whether a subject shows what calls for a rule."""
    keys: dict[str, list[str]] = {}
    for sort, token in triggers:
        keys.setdefault(sort, []).append(token)
    tests = []
    inner = []
    if "key" in keys:
        inner.append(f"k in {total.literal(sorted(keys['key']))}")
    inner += [f"k.startsWith({quoted(domain + '/')})" for domain in keys.get("domain", ())]
    inner += [f"k.endsWith({quoted('/' + name)})" for name in keys.get("name", ())]
    if inner:
        tests.append(f"{tokens}.exists(k, {' || '.join(inner)})")
    if "kind" in keys:
        tests.append(f"variables.kind in {total.literal(sorted(keys['kind']))}")
    if "called" in keys:
        tests.append(f"variables.own_metadata[?'name'].orValue('') in {total.literal(sorted(keys['called']))}")
    if "image" in keys and prefix is not None:
        names = "|".join(name.replace(".", "[.]") for name in keys["image"])
        image = "type(c.v) == map && type(c.v[?'image'].orValue(dyn(null))) == string"
        tests.append(f"{prefix}regular.exists(c, {image} && c.v['image'].matches('^(.*/)?({names})([:@][^/]*)?$'))")
    return " || ".join(tests) if tests else "false"
