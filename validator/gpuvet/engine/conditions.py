"""From the triggers of rules to CEL match conditions: an object that no rule can speak of never leaves the API server.

The expressions look where `engine.shown` looks: labels and annotations, resources of Pods and containers, node selectors,
tolerations and node affinity of every Pod template that the workload table knows. They let too much through rather than too little.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpuvet.engine.domains import Domains
from gpuvet.engine.ruleset import BoundRule, triggers_of
from gpuvet.manifests.workload_table import Made, Row, Slot


class Other(NamedTuple):
    """A kind without Pod templates that rules speak of."""

    kind: str
    """As rules name it."""
    resource: str
    maps: tuple[str, ...] = ()
    """Where its keys stand, besides labels and annotations."""
    key_lists: tuple[str, ...] = ()


OTHERS = (
    Other("Node", "nodes", ("status.capacity", "status.allocatable"), ("spec.taints",)),
    Other("ConfigMap", "configmaps"),
    Other("Namespace", "namespaces"),
    Other("ClusterRole", "clusterroles.rbac.authorization.k8s.io"),
    Other("Role", "roles.rbac.authorization.k8s.io"),
    Other("Device.scheduling.koordinator.sh", "devices.scheduling.koordinator.sh"),
    Other("ElasticQuota.scheduling.sigs.k8s.io", "elasticquotas.scheduling.sigs.k8s.io"),
    Other("GPU.elasticgpu.io", "gpus.elasticgpu.io"),
    Other("GPUPool.tensor-fusion.ai", "gpupools.tensor-fusion.ai"),
    Other("TensorFusionCluster.tensor-fusion.ai", "tensorfusionclusters.tensor-fusion.ai"),
    Other("Queue.scheduling.volcano.sh", "queues.scheduling.volcano.sh"),
    Other("PodGroup.scheduling.volcano.sh", "podgroups.scheduling.volcano.sh"),
)
WHOLE = (
    # Their keys stand anywhere, and they are few.
    Other("ResourceQuota", "resourcequotas"),
    Other("MachineSet.node.tke.cloud.tencent.com", "machinesets.node.tke.cloud.tencent.com"),
)


_EACH = "[*]"
_MAPS = ("labels", "annotations")
_AMOUNTS = ("limits", "requests")


class Triggers(NamedTuple):
    """What the rules that may speak of one kind are triggered by."""

    whole: bool
    """A rule speaks of every object of the kind."""
    keys: tuple[str, ...]
    domains: tuple[str, ...]
    """And keys without a domain, which are compared in the same way."""
    names: tuple[str, ...]
    """The part of a key behind its domain."""
    called: tuple[str, ...]
    """Names of objects."""
    images: tuple[str, ...]


NO_NODE = {"name": "is-not-from-a-node", "expression": "!('system:nodes' in request.userInfo.groups)"}
"""A match condition: what nodes say of themselves is left alone."""
_SERVICE_ACCOUNT = "system:serviceaccount:"


def is_controller(user: str, namespace: str) -> bool:
    """Whether a user makes what controllers make: a service account of another namespace, which takes rights in the whole cluster."""
    return user.startswith(_SERVICE_ACCOUNT) and not user.startswith(f"{_SERVICE_ACCOUNT}{namespace}:")


def made_by_controller(root: str, owners: Iterable[tuple[str, str]] = ()) -> str:
    """The same as CEL, of objects that something controls. `owners`: API group and kind of what counts; without, anything does."""
    user = "request.userInfo.username"
    counted = sorted(f"{group or 'v1'}/{kind}" for group, kind in owners)
    kind = f" && (r.?apiVersion.orValue('').split('/')[0] + '/' + r.?kind.orValue('')) in {_list(counted)}" if counted else ""
    return (
        f"{user}.startsWith('{_SERVICE_ACCOUNT}') && !{user}.startsWith('{_SERVICE_ACCOUNT}' + request.namespace + ':') && "
        f"{root}.metadata.?ownerReferences.orValue([]).exists(r, r.?controller.orValue(false){kind})"
    )


def triggers(
    rules: Iterable[BoundRule], kinds: Iterable[str], subjects: Iterable[str], usage_key: str | None, domains: Domains
) -> Triggers:
    """Of the rules that are about `subjects` of objects of `kinds`."""
    found: dict[str, set[str]] = {sort: set() for sort in ("kind", "key", "domain", "name", "called", "image")}
    wanted, about = frozenset(kinds), frozenset(subjects)
    for rule in rules:
        if rule.info.on in about and (not rule.kinds or rule.kinds & wanted):
            for sort, token in triggers_of(rule.info, usage_key):
                if sort != "kind" or token in wanted:
                    found[sort].add(token)
    spelt = found["domain"] | {domains.get(domain, domain) for domain in found["domain"]}
    keys = {name for key in found["key"] for name in (key, domains.author(key))}
    keys = {
        key for key in keys if key.rpartition("/")[0] not in spelt and key.rpartition("/")[2] not in (found["name"] if "/" in key else ())
    }
    bare = {key for key in keys if "/" not in key}
    parts = (keys - bare, spelt | bare, found["name"], found["called"], found["image"])
    return Triggers(bool(found["kind"]), *(tuple(sorted(part)) for part in parts))


def workload_condition(row: Row, wanted: Triggers) -> str | None:
    """Whether an object of a workload kind may concern a rule; None when every object may."""
    if wanted.whole:
        return None
    own = [f"object.metadata.?{name}.orValue({{}})" for name in _MAPS]
    parts = [_called(wanted)] if wanted.called else []
    # The object's own keys are looked at together with those of a template that is not one of many.
    single = next((slot for slot in row.templates if _EACH not in _main(slot)), None)
    if single is None and key_test("k", wanted):
        parts.append(_any_key([f"[{', '.join(own)}]"], wanted))
    for slot in row.templates:
        condition = _slot(slot, wanted, own if slot is single else [])
        if condition:
            parts.append(condition)
    return _either(parts)


def other_condition(maps: Sequence[str], key_lists: Sequence[str], wanted: Triggers) -> str | None:
    """The same for a kind without Pod templates: `maps` and lists of items with a `key`, as places."""
    if wanted.whole:
        return None
    parts = [_called(wanted)] if wanted.called else []
    if key_test("k", wanted):
        places = [f"object.metadata.?{name}.orValue({{}})" for name in _MAPS]
        places += [f"{_at('object', place)}.orValue({{}})" for place in maps]
        lists = [_items_keys(f"{_at('object', place)}.orValue([])", "t") for place in key_lists]
        parts.append(_any_key([f"[{', '.join(places)}]", *lists], wanted))
    return _either(parts)


def _either(parts: list[str]) -> str:
    return " ||\n".join(parts) if parts else "false"


def _called(wanted: Triggers) -> str:
    return f"object.metadata.?name.orValue('') in {_list(wanted.called)}"


def _main(slot: Slot) -> str:
    return slot.template or slot.spec or slot.at


def _slot(slot: Slot, wanted: Triggers, own: list[str]) -> str:
    main = _main(slot)
    group = main[: main.rindex(_EACH) + len(_EACH)] if _EACH in main else ""
    each = group.split(_EACH)[:-1] if group else []
    item = "object" if not each else f"i{len(each) - 1}"

    def place(where: str) -> str:
        """An optional."""
        if group and where.startswith(group):
            rest = where[len(group) :].lstrip(".")
            return _at(item, rest) if rest else f"optional.of({item})"
        return _at("object", where)

    def maps_of(where: str, names: Sequence[str]) -> list[str]:
        return [f"{place(f'{where}.{name}')}.orValue({{}})" for name in names]

    spec = f"{slot.template}.spec" if slot.template else slot.spec
    metadata = ([f"{slot.template}.metadata"] if slot.template else []) + list(slot.metadata)
    if ".jobTemplate." in f"{main}.":
        # Where authors put what belongs to the Pods.
        metadata.append(main[: main.index(".jobTemplate.") + len(".jobTemplate")] + ".metadata")
    maps = own + [found for where in metadata for found in maps_of(where, _MAPS) if found not in own]
    elsewhere = dict(slot.fields)
    selectors, tolerations, affinities = (
        [place(where) for where in (*elsewhere.get(field, ()), *((f"{spec}.{field}",) if spec else ()))]
        for field in ("nodeSelector", "tolerations", "affinity")
    )
    maps += [f"{selector}.orValue({{}})" for selector in selectors]
    containers: list[str] = []
    if spec:
        maps += maps_of(f"{spec}.resources", _AMOUNTS)
        containers += [place(f"{spec}.{name}") for name in ("containers", "initContainers")]
    for container in (*slot.containers, *slot.init_containers):
        if isinstance(container, Made):
            maps += maps_of(container.resources, _AMOUNTS) if container.resources else []
            maps += [f"dyn({{{place(f'{container.gpu}.name')}.orValue(''): 0}})"] if container.gpu else []
        else:
            containers.append(place(container))
    listed = "[" + ", ".join(f"{container}.orValue([])" for container in containers) + "].map(l, type(l) == list ? l : [l])"
    lists = [f"[{', '.join(maps)}]"]
    lists += [_items_keys(f"{toleration}.orValue([])", "t") for toleration in tolerations]
    parts = []
    if key_test("k", wanted):
        more = [_affinity(affinity) for affinity in affinities]
        if containers:
            more += [f"{listed}.map(l, l.map(c, c.?resources.?{name}.orValue({{}})))" for name in _AMOUNTS]
        parts.append(_any_key(lists, wanted, more))
    if wanted.images and containers:
        names = "|".join(name.replace(".", "[.]") for name in wanted.images)
        parts.append(f"{listed}.exists(l, l.exists(c, c.?image.orValue('').matches('^(.*/)?({names})([:@].*)?$')))")
    if not parts:
        return ""
    body = " ||\n".join(parts)
    for depth in range(len(each) - 1, -1, -1):
        where = each[depth].lstrip(".")
        outer = "object" if depth == 0 else f"i{depth - 1}"
        items = f"{_at(outer, where)}.orValue([])" if where else outer
        body = f"(type({items}) == map ? {items}.map(n, {items}[n]) : {items}).exists(i{depth},\n{body})"
    return body


def _affinity(affinity: str) -> str:
    """A list of lists of maps whose keys are the keys of node affinity."""
    node = f"{affinity}.?nodeAffinity"
    required = f"{node}.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"
    preferred = f"{node}.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(p, p.?preference.orValue({{}}))"
    return f"({required} + {preferred}).map(a, {_items_keys('a.?matchExpressions.orValue([])', 'e')})"


def _items_keys(items: str, variable: str) -> str:
    """A list of maps with one key each: what stands under `key` in the items."""
    return f"{items}.map({variable}, {{{variable}.?key.orValue(''): 0}})"


def _any_key(lists: Sequence[str], wanted: Triggers, more: Sequence[str] = ()) -> str:
    """Whether a map in the lists has a key that calls for a rule. `more`: lists of such lists."""
    whole = " + ".join([f"[{', '.join(f'dyn({each})' for each in lists)}]", *more])
    return f"({whole}).exists(l, l.exists(m, type(m) == map && m.exists(k, {key_test('k', wanted)})))"


def key_test(variable: str, wanted: Triggers) -> str:
    """Whether a key is one that a rule is triggered by; empty when no key is.

    Lists and not a regular expression: CEL has a budget, and this costs a tenth.
    """
    parts = []
    if wanted.domains:
        parts.append(f"{variable}.split('/')[0] in {_list(wanted.domains)}")
    if wanted.keys:
        parts.append(f"{variable} in {_list(wanted.keys)}")
    parts += [f"{variable}.endsWith('/{name}')" for name in wanted.names]
    return " || ".join(parts)


def _at(root: str, place: str) -> str:
    return root + "".join(f".?{key}" for key in place.split("."))


def _list(words: Iterable[str]) -> str:
    return "[" + ", ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words) + "]"
