"""Pod templates that are put together from several places (Argo Workflows, Spark, KServe, TrainJob), as CEL.

Kubernetes' CEL has no function that joins maps, but a map may be written whose keys are worked out: one of `MOST` entries, of which those
that are not needed are left out. So a Pod that was put together looks like any other to the rules. What it does not know is where its parts
came from: its places begin with a mark and the number of the template, and `located` leads such a place back to the author's.
The reference is `gpuvet.manifests.workloads`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from gpuvet.engine.judge import kind_name
from gpuvet.language.printers import cel_totals as total
from gpuvet.manifests import workloads
from gpuvet.manifests.workloads import Row

MOST = 64
"""Entries of a map that was joined; of a Pod template with more, what is missing means nothing."""
MARK = "~"
_PARTS = ("annotations", "labels")
_NONE = -1


def levels_of(group: Sequence[str]) -> list[list[str]]:
    """The ways between the `[*]` of a group."""
    found: list[list[str]] = []
    way: list[str] = []
    for key in group:
        if key == "[*]":
            found.append(way)
            way = []
        else:
            way.append(key)
    return found


def walk(root: str, way: str, depth: int) -> str:
    """What stands at a way of at most `depth` keys, null where nothing does."""
    if not depth:
        return root
    text = f"[{root}]"
    for level in range(depth):
        text += f".map(x, size({way}) > {level} ? (type(x) == map ? x[?{way}[{level}]].orValue(dyn(null)) : null) : x)"
    return f"{text}[0]"


def items_of(depths: Sequence[int]) -> str:
    """The items that a slot `r` is read for: [key, value, place] of each. `levels` and `levels_at` of the slot say where they are.

    `depths`: keys of the longest way of each level.
    """
    text = "[[dyn(''), r.root, dyn('')]]"
    for level, depth in enumerate(depths):
        way = f"r.levels[{level}]"
        word = f"(type(k) == string ? {total.key_word('string(k)')} : {total.item_word('l[k]', 'k')})"
        made = f"[dyn(k), l[k], dyn(e[2] + r.levels_at[{level}] + {word})]"
        inner = f"p.map(e, [{walk('e[1]', way, depth)}].map(l, {total.keys('l')}.map(k, {made}))[0])"
        flat = f"[{inner}].map(f, {'f[0]' if not level else flattened('f')})[0]"
        text = f"[{text}].map(p, size(r.levels) > {level} ? {flat} : p)[0]"
    return f"{text}.filter(e, type(e[1]) == map)"


def flattened(lists: str) -> str:
    """The lists of a list as one: their items are called by two numbers in a text, since nothing else makes one list of many."""
    called = f"{total.numbers(lists)}.map(a, {total.numbers(f'{lists}[a]')}.map(b, string(a) + ' ' + string(b)).join(',')).join(',')"
    return f"{called}.split(',').filter(x, x != '').map(x, x.split(' ')).map(x, {lists}[int(x[0])][int(x[1])])"


def slots_of(rows: Iterable[Row], plain: bool) -> list[dict[str, str]]:
    """The slots of rows, those that have to be put together or the others, as texts: they are shorter than lists of `dyn`."""
    found: dict[tuple[str, ...], list[str]] = {}
    slots: list[dict[str, str]] = []
    for row in rows:
        for plan in workloads.plans(row):
            if plan.plain is not plain:
                continue
            slot = _plain(row, plan) if plain else _slot(row, plan)
            kinds = found.setdefault(tuple(slot.values()), [])
            if not kinds:
                slots.append(slot)
            kinds.append(kind_name(row.group, row.kind))
    return [{"kinds": " ".join(found[tuple(slot.values())]), **slot} for slot in slots]


def table(slots: Sequence[dict[str, str]], read: str) -> str:
    """Those slots that are about the object, for it and for what it was; `read` makes the record of a slot `r`."""
    version = "variables.object.apiVersion.substring(variables.object.apiVersion.indexOf('/') + 1)"
    mine = f"variables.kind in r.kinds.split(' ') && (r.versions == '' || {version} in r.versions.split(' '))"
    roots = "[[variables.object, dyn(false)], [variables.old, dyn(true)]].filter(o, o[0] != null)"
    both = f"[{total.literal(list(slots))}.filter(r, {mine})].map(l, {roots}.map(o, l.map(r, {read})))[0]"
    return f"[{both}].map(l, l[0] + l[?1].orValue([]))[0]"


def each_slot(name: str, slots: Sequence[dict[str, str]]) -> str:
    """What stands in the lists of each slot of a kind, as one list."""
    kinds = Counter(kind for slot in slots for kind in slot["kinds"].split(" "))
    return " + ".join(f"variables.{name}[?{number}].orValue([])" for number in range(2 * max(kinds.values(), default=0)))


def _common(row: Row, plan: Any) -> dict[str, str]:
    return {
        "versions": "" if row.version == "*" else row.version.replace("|", " "),
        "levels": "|".join(".".join(way) for way in levels_of(plan.group)),
        "label": plan.slot.label,
        "validated": row.validated,
        "partial": "partial" if plan.slot.partial else "",
    }


def _plain(row: Row, plan: Any) -> dict[str, str]:
    return {
        **_common(row, plan),
        "spec": ".".join(plan.spec.keys),
        "metadata": ".".join(plan.metadata[0].keys) if plan.metadata else "-",
        "name": ".".join(plan.name.keys) if plan.name else "-",
        "scheduler": row.scheduler or "-",
    }


def read_plain() -> str:
    """The record of a slot that is plain."""
    ways = {name: _way(f"r.{name}") for name in ("spec", "metadata", "name", "scheduler")}
    texts = {"spec_text": _place(ways["spec"]), "metadata_text": f"r.metadata == '-' ? {_place(ways['spec'])} : {_place(ways['metadata'])}"}
    return _record({**_read_common(), **ways, **texts, "scheduler_text": "r.scheduler"})


def deepest(slots: Sequence[dict[str, str]]) -> list[int]:
    """Keys of the longest way of each level."""
    levels = [slot["levels"].split("|") for slot in slots if slot["levels"]]
    return [
        max(way.count(".") + 1 for ways in levels for way in ways[level : level + 1]) for level in range(max(map(len, levels), default=0))
    ]


def _slot(row: Row, plan: Any) -> dict[str, str]:
    bases: list[str] = []
    refs: list[str] = []

    def ref(found: Any) -> str:
        """The number of a place."""
        if found is None:
            return str(_NONE)
        base = ("+" if found.own else "-") + ".".join(found.keys[:-1])
        if base not in bases:
            bases.append(base)
        one = f"{bases.index(base)}.{found.keys[-1] if found.keys else ''}"
        if one not in refs:
            refs.append(one)
        return str(refs.index(one))

    def listed(places: Iterable[Any]) -> str:
        return " ".join(ref(each) for each in places)

    drop = [
        each.keys[-1]
        for each in plan.containers
        if plan.spec is not None and not hasattr(each, "image") and each.own == plan.spec.own and each.keys[:-1] == plan.spec.keys
    ]
    sources = [
        f"{each.name} {listed((each.at, each.image, each.resources, each.gpu))}" if hasattr(each, "image") else f" {ref(each)}"
        for each in plan.containers
    ]
    slot = {
        **_common(row, plan),
        "needs": ref(plan.at),
        "spec": ref(plan.spec),
        "drop": " ".join(drop),
        "fields": "|".join(f"{name} {listed(places)}" for name, places in plan.fields),
        "metadata": listed(plan.metadata),
        "sources": "|".join(sources),
        "starting": listed(plan.init_containers),
        "name": ref(plan.name),
    }
    return {**slot, "bases": "|".join(bases), "refs": "|".join(refs)}


def _split(text: str, at: str) -> str:
    return f"({text} == '' ? [] : {text}.split('{at}'))"


def _way(text: str) -> str:
    return f"{text}.split('.').filter(k, k != '')"


def _place(way: str) -> str:
    return f"{way}.map(k, '.' + k).join('')"


def _read_common() -> dict[str, str]:
    ways = f"{_split('r.levels', '|')}.map(l, {_way('l')})"
    return {
        "levels": ways,
        "levels_at": f"{ways}.map(l, {_place('l')})",
        "label": "r.label",
        "validated": "r.validated",
        "partial": "r.partial != ''",
        "root": "o[0]",
        "old": "o[1]",
    }


def _read() -> str:
    """The record of a slot that has to be put together."""
    numbers = "filter(n, n != '').map(n, int(n))"
    fields = {
        **_read_common(),
        **{name: f"int(r.{name})" for name in ("needs", "spec", "name")},
        "drop": "r.drop.split(' ')",
        "fields": f"{_split('r.fields', '|')}.map(f, f.split(' ')).map(f, [dyn(f[0]), dyn(f.filter(n, n != f[0]).{numbers})])",
        **{name: f"r.{name}.split(' ').{numbers}" for name in ("metadata", "starting")},
        "sources": f"{_split('r.sources', '|')}.map(s, s.split(' ')).map(s, [dyn(s[0])] + s.filter(n, n != s[0]).map(n, dyn(int(n))))",
        "bases": f"r.bases.split('|').map(b, [dyn(b.startsWith('+')), dyn({_way('b.substring(1)')})])",
        "refs": "r.refs.split('|').map(x, x.split('.')).map(x, [dyn(int(x[0])), dyn(x[1])])",
    }
    return _record(fields)


def variables(rows: Sequence[Row]) -> dict[str, str]:
    """`mixed_raw`: a record of each Pod template that has to be put together, like those of the others."""
    slots = slots_of(rows, False)
    if not slots:
        return dict.fromkeys(("mixed_raw", "mixed_held", *(f"mixed_{part}" for part in _PARTS)), "dyn([])")
    record = "{'r': dyn(r), 'k': e[0], 'i': e[1], 'w': e[2]}"
    found = {
        "mixed_slots": table(slots, _read()),
        "mixed_items": f"variables.mixed_slots.map(r, {items_of(deepest(slots))}.map(e, {record}))",
    }
    listed = each_slot("mixed_items", slots)
    depth = max(len(base.split(".")) for slot in slots for base in slot["bases"].split("|"))
    base = f"[{walk('(b[0] ? e.i : e.r.root)', 'b[1]', depth)}, dyn((b[0] ? e.w : '') + {_place('b[1]')})]"
    value = "x[1] == '' ? b[x[0]][0] : type(b[x[0]][0]) == map ? b[x[0]][0][?x[1]].orValue(dyn(null)) : null"
    places = f"[e.r.bases.map(b, {base})].map(b, e.r.refs.map(x, [{value}, dyn(b[x[0]][1] + (x[1] == '' ? '' : '.' + x[1]))]))[0]"
    # Each step reads those before it: v the values and places of all references, g the PodSpec that the others are laid over.
    found["mixed_places"] = f"({listed}).map(e, {{'r': e.r, 'k': e.k, 'w': e.w, 'v': dyn({places})}})"
    needed = "(e.r.needs == -1 || type(e.v[e.r.needs][0]) == map)"
    base_spec = "[e.r.spec == -1 ? [dyn(null), dyn('')] : e.v[e.r.spec]].map(g, type(g[0]) == map ? g : [dyn(null), dyn('')])[0]"
    found["mixed_based"] = (
        f"variables.mixed_places.filter(e, {needed}).map(e, {{'r': e.r, 'k': e.k, 'w': e.w, 'v': e.v, 'g': dyn({base_spec})}})"
        ".filter(e, e.r.needs != -1 || e.g[0] != null)"
    )
    sources = max(slot["sources"].count("|") for slot in slots) + 2
    regular = f"([{_taken('containers')}] + e.r.sources.map(s, s[0] != '' ? {_made()} : {_take('e.v[s[1]]')}))"
    starting = f"([{_taken('initContainers')}] + e.r.starting.map(s, {_take('e.v[s]')}))"
    inits = max(len(slot["starting"].split()) for slot in slots) + 1
    strongest = "f[1].map(n, e.v[n]).filter(x, x[0] != null)[?0].orValue([dyn(null), dyn('')])"
    fields = f"e.r.fields.map(f, [dyn(f[0])] + {strongest}).filter(f, f[1] != null)"
    at = "e.g[0] != null ? e.g[1] : e.r.needs != -1 ? e.v[e.r.needs][1] : e.w"
    parts = {
        "r": "e.r",
        "k": "e.k",
        "v": "e.v",
        "g": "e.g",
        "at": at,
        "fields": fields,
        "regular": f"[{regular}].map(l, {_concatenated('l', sources)})[0]",
        "starting": f"[{starting}].map(l, {_concatenated('l', inits)})[0]",
    }
    found["mixed_held"] = f"variables.mixed_based.map(e, {_record(parts)}).filter(e, e.r.spec != -1 || size(e.regular) > 0)"
    metadata = max(len(slot["metadata"].split()) for slot in slots)
    holders = "e.r.metadata.map(n, e.v[n]).filter(m, type(m[0]) == map)"
    for part in _PARTS:
        entries = f"{holders}.map(m, [m[0][?'{part}'].orValue(dyn(null)), dyn(m[1] + '.{part}')]).filter(m, m[0] != null)"
        found[f"mixed_{part}"] = f"variables.mixed_held.map(e, [{entries}].map(l, {{'l': dyn(l), 'p': dyn({_merged('l', metadata)})}})[0])"
    found["mixed_raw"] = f"{total.numbers('variables.mixed_held')}.map(i, [variables.mixed_held[i]].map(e, {_template()})[0])"
    return found


def _record(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': dyn({text})" for name, text in fields.items()) + "}"


def _concatenated(lists: str, most: int) -> str:
    return " + ".join(f"{lists}[?{number}].orValue([])" for number in range(most))


def _take(held: str) -> str:
    """Containers at a place: [value, place, parts that stand elsewhere] of one or of each in a list."""
    items = (
        f"{total.numbers('h[0]')}.filter(n, type(h[0][n]) == map).map(n, [h[0][n], dyn(h[1] + {total.item_word('h[0][n]', 'n')}), dyn([])])"
    )
    return f"[{held}].map(h, type(h[0]) == map ? [[h[0], h[1], dyn([])]] : type(h[0]) == list ? {items} : [])[0]"


def _taken(name: str) -> str:
    return _take(f"e.g[0] == null ? [dyn(null), dyn('')] : [e.g[0][?'{name}'].orValue(dyn(null)), dyn(e.g[1] + '.{name}')]")


def _made() -> str:
    """A container that the operator makes from single fields: `s` is [name, where it stands, image, resources, gpu]."""
    image, resources, gpu = (f"(s[{number}] == -1 ? [dyn(null), dyn('')] : e.v[s[{number}]])" for number in (2, 3, 4))
    asked = "(type(u[0]) == map && type(u[0][?'name'].orValue(dyn(null))) == string && u[0][?'quantity'].orValue(dyn(null)) != null)"
    amounts = f"({asked} ? dyn({{'limits': {{u[0]['name']: u[0]['quantity']}}}}) : q[0])"

    def there(value: str) -> str:
        return f"({value} == null ? optional.none() : optional.of(dyn({value})))"

    value = f"{{'name': dyn(s[0]), ?'image': {there('m[0]')}, ?'resources': {there(amounts)}}}"
    key = total.key_word("string(u[0]['name'])")
    limit = f"[dyn('.resources.limits' + {key}), dyn(u[1] + '.quantity')]"
    limits = f"[[dyn('.resources'), u[1]], [dyn('.resources.limits'), u[1]], {limit}]"
    moved = [
        "(m[0] == null ? [] : [[dyn('.image'), m[1]]])",
        f"({asked} ? {limits} : q[0] == null ? [] : [[dyn('.resources'), q[1]]])",
    ]
    made = f"[dyn({value}), e.v[s[1]][1], dyn({' + '.join(moved)})]"
    return f"[{image}].map(m, [{resources}].map(q, [{gpu}].map(u, [{made}])[0])[0])[0]"


def _merged(entries: str, most: int) -> str:
    """[key, value, place of its map] of maps laid over each other; what is no map hides those before it."""
    numbers = str(list(range(most)))
    hidden = f"{numbers}.exists(x, x >= j && x < size({entries}) && type({entries}[x][0]) != map)"
    later = f"{numbers}.exists(x, x > j && x < size({entries}) && k in {entries}[x][0])"
    own = f"{entries}[j][0].filter(k, !{later}).map(k, [dyn(k), {entries}[j][0][k], {entries}[j][1]])"
    lists = f"{numbers}.map(j, j >= size({entries}) || {hidden} ? [] : {own})"
    return f"[{lists}].map(o, {_concatenated('o', most)})[0]"


def _joined(pairs: str) -> str:
    """A map of pairs."""
    entries = ", ".join(f"?o[?{number}].orValue(dyn({number})): a[?{number}]" for number in range(MOST))
    return f"[{pairs}.map(x, x[0])].map(o, [{pairs}.map(x, x[1])].map(a, {{{entries}}})[0])[0]"


def _template() -> str:
    name = (
        "[e.r.name == -1 ? null : e.v[e.r.name][0]].map(t, e.r.label != '' ? e.r.label : type(t) == string && t != '' ? t : string(e.k))[0]"
    )
    kept = (
        "!(k in e.r.drop) && !e.fields.exists(f, f[0] == k) && !(k == 'containers' && size(e.regular) > 0) && "
        "!(k == 'initContainers' && size(e.starting) > 0)"
    )
    lists = "[[dyn('containers'), e.regular], [dyn('initContainers'), e.starting]].filter(l, size(l[1]) > 0)"
    spec = (
        f"(e.g[0] == null ? [] : e.g[0].filter(k, {kept}).map(k, [dyn(k), e.g[0][k]])) + e.fields.map(f, [f[0], f[1]]) + "
        f"{lists}.map(l, [dyn(l[0]), dyn(l[1].map(c, c[0]))])"
    )
    pairs = ", ".join(("dyn(z)", *(f"variables.mixed_{part}[i].p" for part in _PARTS)))
    maps = f"[{pairs}].map(w, dyn({_joined('w')}))"
    odd = "size(l) > 0 && type(l[size(l) - 1][0]) != map ? dyn([l[size(l) - 1][0]]) : dyn([])"
    last = {part: f"[variables.mixed_{part}[i].l].map(l, {odd})[0]" for part in _PARTS}
    fields = {
        "mixed": "i",
        "old": "e.r.old",
        "spec": "w[0]",
        "metadata": "{" + ", ".join(f"'{part}': {last[part]}[?0].orValue(w[{number + 1}])" for number, part in enumerate(_PARTS)) + "}",
        "spec_at": "''",
        "metadata_at": "''",
        "template_name": name,
        "template_validated": "e.r.validated",
        "template_scheduler": "null",
        "scheduler_at": "''",
        "partial": f"e.r.partial || size(z) > {MOST} || " + " || ".join(f"size(variables.mixed_{part}[i].p) > {MOST}" for part in _PARTS),
    }
    return f"[{spec}].map(z, [{maps}].map(w, {_record(fields)})[0])[0]"


def mark(number: str) -> str:
    """What a place in a Pod that was put together begins with."""
    return f"'{MARK}' + string({number}) + '{MARK}'"


def moved() -> str:
    """For each Pod template that was put together: [place in it, place in the object] of its parts."""
    listed = ["[[dyn('.spec'), e.at]]", "e.fields.map(f, [dyn('.spec.' + f[0]), f[2]])"]
    for name, held in (("containers", "regular"), ("initContainers", "starting")):
        prefix = f"'.spec.{name}[' + string(n) + ']'"
        listed.append(f"{total.numbers(f'e.{held}')}.map(n, [dyn({prefix}), e.{held}[n][1]])")
        if held == "regular":
            parts = "[0, 1, 2, 3].filter(x, x < size(e.regular[n][2]))"
            inner = f"{parts}.map(x, [dyn({prefix} + e.regular[n][2][x][0]), e.regular[n][2][x][1]])"
            listed.append(
                f"[{total.numbers('e.regular')}.filter(n, size(e.regular[n][2]) > 0).map(n, {inner})].map(f, {flattened('f')})[0]"
            )
    listed.append("[[dyn('.metadata'), size(e.r.metadata) > 0 ? e.v[e.r.metadata[size(e.r.metadata) - 1]][1] : e.at]]")
    for part in _PARTS:
        listed.append(f"variables.mixed_{part}[i].l.map(l, [dyn('.metadata.{part}'), l[1]])")
        key = total.key_word("string(x[0])")
        listed.append(f"variables.mixed_{part}[i].p.map(x, [dyn('.metadata.{part}' + {key}), dyn(x[2] + {key})])")
    return f"{total.numbers('variables.mixed_held')}.map(i, [variables.mixed_held[i]].map(e, {' + '.join(listed)})[0])"


def located(at: str) -> str:
    """A place, led back to where the author wrote it. Of equally long prefixes the last counts."""
    number = f"int(a.substring(1, a.indexOf('{MARK}', 1)))"
    rest = f"a.substring(a.indexOf('{MARK}', 1) + 1)"
    fits = "a == q[0] || a.startsWith(q[0] + '.') || a.startsWith(q[0] + '[')"
    longest = "l.filter(q, !l.exists(p, size(p[0]) > size(q[0]))).map(q, q[1] + a.substring(size(q[0])))"
    chosen = f"[m.filter(q, {fits})].map(l, [{longest}].map(l, l[size(l) - 1])[0])[0]"
    found = f"[variables.mixed_moved[{number}]].map(m, [{rest}].map(a, {chosen})[0])[0]"
    return f"[{at}].map(a, a.startsWith('{MARK}') ? {found} : a).map(a, a.startsWith('.') ? a.substring(1) : a)[0]"
