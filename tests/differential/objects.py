"""Objects to judge: every fixture, and for each rule seeded mutations of its fixtures at the bounds of its own parameters."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from differential.python import ordered
from gpuvet.language import ir
from gpuvet.language.catalogue import LoadedRule
from gpuvet.manifests.reader import read
from gpuvet.values.quantity import NANOS, format_quantity

Path = tuple[Any, ...]

ODD: tuple[Any, ...] = (
    *("", " ", "0", "1", "-1", "+1", "007", "1.5", "0.0000000001", "100", "101", "1e3", "1E", "1e400", "-1e-400", "Gi", "."),
    *("4GiB", "4 Gi"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", "99999999999999999999999999"),
    *("true", "false", "True", "null", "٣", "ä€𝄞", "a\u0301", "x" * 300, "1.2.3", "v535.104.05", "470.161", "a,b,,c", "a b", "A", "-", "*"),
    *("{{ .Values.x }}", "${x}", "$(x)", "a\nb", "\t", "NoSchedule", "Exists", "nvidia.com/gpu", "tensor-fusion.ai/enabled"),
    *(0, 1, -1, 5, 100, 101, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1.5, 1e-7, -2.25, True, False, None),
    *([], {}, [""], ["a", "a"], [None], [[]], {"a": "b"}, {"name": "x"}, [{"name": "x"}], {"key": "x", "operator": "Exists"}),
)
"""What nobody should write, and somebody does."""


def fixtures(folder: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(rule of the folder, object) of every fixture that is an object."""
    for path in sorted(folder.glob("*/*/*/**/*.yaml")):
        if path.name.startswith("."):
            continue
        rule = path.relative_to(folder).parts[1]
        for document in read(path.read_bytes()).documents:
            if isinstance(document.value, dict):
                yield rule, plain(document.value)


def plain(value: Any) -> Any:
    """As JSON brings it: an engine sees no other values."""
    return ordered(json.loads(json.dumps(value)))


def words_of(rule: LoadedRule) -> list[Any]:
    """Values that stand in the rule, and their neighbours: just below, at and just above each bound."""
    found: list[Any] = []
    for check in rule.checks:
        for root in (check.when, check.at, *(of for _, of in check.each)):
            for part in ir.walk(root):
                match part:
                    case ir.Amount(nanos):
                        for near in (nanos - NANOS, nanos - 1, nanos, nanos + 1, nanos + NANOS):
                            found += [format_quantity(near), near // NANOS]
                    case ir.Constant(value=bool() | None):
                        continue
                    case ir.Constant(value=int() as number):
                        found += [number - 1, number, number + 1, str(number - 1), str(number), str(number + 1)]
                    case ir.Constant(value=str() as text):
                        found += [text, f"{text}x", text.upper()]
                    case ir.Constant(value=tuple() as listed):
                        found += [item for item in listed if isinstance(item, str | int)]
    return list(dict.fromkeys(value for value in found if not isinstance(value, bool)))


def mutants(rule: LoadedRule, bases: list[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    """`count` objects, always the same ones for the same rule and bases."""
    chance = random.Random(f"{rule.text.id}")
    words = words_of(rule) or ["x"]
    for _ in range(count):
        value = copy.deepcopy(chance.choice(bases))
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
            _mutate(value, chance, words, bases)
        yield plain(value)


def _mutate(value: dict[str, Any], chance: random.Random, words: list[Any], bases: list[dict[str, Any]]) -> None:
    places = list(_places(value))
    if not places:
        return
    deep = [place for place in places if len(place) > 2] or places
    place = chance.choice(deep)
    holder = _at(value, place[:-1])
    key = place[-1]
    match chance.randrange(12):
        case 0 | 1 | 2 | 3:
            leaves = [place for place in deep if not isinstance(_at(value, place), dict | list)] or deep
            place = chance.choice(leaves)
            _at(value, place[:-1])[place[-1]] = chance.choice(words)
        case 4 | 5:
            holder[key] = copy.deepcopy(chance.choice(ODD))
        case 6:
            del holder[key]
        case 7:
            if isinstance(holder, dict):
                new = chance.choice([word for word in words if isinstance(word, str)] or ["x"])
                holder[new] = holder[key] if chance.random() < 0.5 else holder.pop(key)
            else:
                holder.append(copy.deepcopy(holder[key]))
        case 8:
            other = chance.choice(bases)
            same = [there for there in _places(other) if there[-1] == key] or list(_places(other))
            holder[key] = copy.deepcopy(_at(other, chance.choice(same)))
        case 9:
            _more_containers(value, chance)
        case 10:
            maps = [place for place in places if isinstance(_at(value, place), dict)]
            if maps:
                _at(value, chance.choice(maps))[str(chance.choice(words))] = chance.choice((*words, *map(copy.deepcopy, ODD)))
        case _:
            _rewrap(value, chance)


def _places(value: Any, at: Path = ()) -> Iterator[Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield (*at, key)
        yield from _places(item, (*at, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _more_containers(value: dict[str, Any], chance: random.Random) -> None:
    for place in _places(value):
        listed = _at(value, place)
        if place[-1] == "containers" and isinstance(listed, list) and listed and all(isinstance(one, dict) for one in listed):
            holder = _at(value, place[:-1])
            wanted = chance.choice((2, 2, 3, 8, 24))
            if chance.random() < 0.5:
                listed += [{**copy.deepcopy(chance.choice(listed)), "name": f"more-{n}"} for n in range(wanted)]
            else:
                starting = [{**copy.deepcopy(chance.choice(listed)), "name": f"init-{n}"} for n in range(wanted)]
                for container in starting:
                    if chance.random() < 0.4:
                        container["restartPolicy"] = chance.choice(("Always", "Never"))
                holder["initContainers"] = starting
            return


_OWNERS: tuple[tuple[str, str, Any], ...] = (
    ("apps/v1", "Deployment", lambda pod: {"selector": {}, "replicas": 2, "template": pod}),
    ("apps/v1", "DaemonSet", lambda pod: {"template": pod}),
    ("batch/v1", "Job", lambda pod: {"template": pod}),
    ("batch/v1", "CronJob", lambda pod: {"jobTemplate": {"spec": {"template": pod}}}),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        lambda pod: {"schedulerName": "volcano", "tasks": [{"name": "a", "template": pod}, {"template": pod}]},
    ),
    (
        "ray.io/v1",
        "RayCluster",
        lambda pod: {"headGroupSpec": {"template": pod}, "workerGroupSpecs": [{"groupName": "w", "template": pod}]},
    ),
    ("kubeflow.org/v1", "PyTorchJob", lambda pod: {"pytorchReplicaSpecs": {"Master": {"template": pod}, "Worker": {"template": pod}}}),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        lambda pod: {
            "podMetadata": pod.get("metadata"),
            "templates": [
                {"name": "t", "container": (pod.get("spec") or {}).get("containers", [{}])[0], **_argo(pod)},
                {"steps": [[{"name": "s", "inline": {"metadata": pod.get("metadata"), "containerSet": pod.get("spec")}}]]},
            ],
        },
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        lambda pod: {
            "driver": {"template": pod, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}, **(pod.get("metadata") or {})},
            "executor": {"instances": 2, "image": "i", "gpu": {"name": "tke.cloud.tencent.com/qgpu-core", "quantity": 7}},
            "nodeSelector": (pod.get("spec") or {}).get("nodeSelector"),
        },
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        lambda pod: {"predictor": {**(pod.get("spec") or {}), **(pod.get("metadata") or {}), "model": _limited("nvidia.com/gpu")}},
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        lambda pod: {"podSpecOverrides": [pod.get("spec")], "trainer": {"resourcesPerNode": _limited("koordinator.sh/gpu")["resources"]}},
    ),
    ("example.com/v1", "Unknown", lambda pod: {"template": pod}),
)


def _limited(key: str) -> dict[str, Any]:
    return {"resources": {"limits": {key: "2"}}}


def _argo(pod: dict[str, Any]) -> dict[str, Any]:
    spec = pod.get("spec") or {}
    return {key: spec[key] for key in ("nodeSelector", "tolerations", "affinity", "initContainers") if key in spec}


def _rewrap(value: dict[str, Any], chance: random.Random) -> None:
    """The same Pod under another owner."""
    pod = _pod_in(value)
    if pod is None or not isinstance(pod.get("spec") or {}, dict) or not isinstance(pod.get("metadata") or {}, dict):
        return
    containers = (pod.get("spec") or {}).get("containers")
    if not isinstance(containers, list) or not containers:
        return
    api_version, kind, make = chance.choice(_OWNERS)
    metadata = value.get("metadata")
    spec = make(copy.deepcopy(pod))
    value.clear()
    value.update({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
    if chance.random() < 0.1:
        value["metadata"] = {}


def _pod_in(value: dict[str, Any]) -> dict[str, Any] | None:
    if value.get("kind") == "Pod":
        return {"metadata": value.get("metadata"), "spec": value.get("spec")}
    for place in _places(value):
        found = _at(value, place)
        if place[-1] == "template" and isinstance(found, dict) and isinstance(found.get("spec"), dict):
            return found
    return None
