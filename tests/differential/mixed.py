"""The Pods of fixtures as kinds that put a Pod together from several places describe them: parts stand where they count, where something
else overrules them, and where both hold."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from differential.objects import _pod_in, plain

Value = dict[str, Any]
Make = Callable[[Value, Value, random.Random], Value]
"""(metadata, spec of a Pod, chance) -> the spec of an owner."""

_FIELDS = ("nodeSelector", "tolerations", "affinity", "schedulerName", "priorityClassName", "hostNetwork", "serviceAccountName")
_OTHER_KEYS = {"example.com/other": "x", "tensor-fusion.ai/qos": "highest", "tke.cloud.tencent.com/x": "1"}


def pod_of(value: Value) -> tuple[Value, Value] | None:
    """Metadata and spec of the Pod that an object describes, if they are as they should be."""
    pod = _pod_in(value)
    if pod is None:
        return None
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return None
    listed = spec.get("containers")
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        return None
    return {key: metadata[key] for key in ("annotations", "labels") if key in metadata}, spec


def mixed(value: Value, chance: random.Random, count: int) -> Iterator[Value]:
    """`count` objects that describe the Pod of a fixture."""
    pod = pod_of(value)
    if pod is None:
        return
    own = value.get("metadata")
    for api_version, kind, make in chance.sample(KINDS, count):
        metadata, spec = copy.deepcopy(pod)
        made = {"apiVersion": api_version, "kind": kind, "metadata": {**(own if isinstance(own, dict) else {}), "name": "x"}}
        yield plain({**made, "spec": make(metadata, spec, chance)})


def spread(metadata: Value, chance: random.Random, places: int) -> list[Value]:
    """The metadata in pieces, weakest first: together they are what it was, however much stands in pieces that are overruled."""
    found: list[Value] = [{} for _ in range(places)]
    for part, entries in metadata.items():
        if not isinstance(entries, dict):
            found[-1][part] = entries
            continue
        for key, item in entries.items():
            place = chance.randrange(places)
            found[place].setdefault(part, {})[key] = item
            if place and chance.random() < 0.5:
                found[chance.randrange(place)].setdefault(part, {})[key] = chance.choice(("x", "0", "true", 1, None))
        for piece in found:
            if chance.random() < 0.3:
                key = chance.choice([*_OTHER_KEYS])
                piece.setdefault(part, {}).setdefault(key, _OTHER_KEYS[key])
    return found


def lay(spec: Value, holders: list[Value], chance: random.Random, fields: tuple[str, ...] = _FIELDS) -> None:
    """Puts fields of a PodSpec into one of the holders, weakest first, and something else into weaker ones."""
    for field in fields:
        if field not in spec:
            continue
        place = chance.randrange(len(holders))
        holders[place][field] = spec[field]
        if place and chance.random() < 0.5:
            holders[chance.randrange(place)][field] = chance.choice(({}, [], "x", None, {"a": "b"}))


def _workflow(metadata: Value, spec: Value, chance: random.Random) -> Value:
    workflow: Value = {}
    defaults: Value = {}
    template: Value = {"name": chance.choice(("main", "t"))}
    pieces = spread(metadata, chance, 3)
    for holder, key, piece in zip((workflow, defaults, template), ("podMetadata", "metadata", "metadata"), pieces, strict=True):
        if piece or chance.random() < 0.3:
            holder[key] = piece
    lay(spec, [workflow, defaults, template], chance)
    containers = list(spec["containers"])
    for place in chance.sample(("container", "script", "containerSet", "sidecars"), 4):
        if not containers:
            break
        if place in ("container", "script"):
            template[place] = containers.pop(0)
        else:
            taken, containers = containers, []
            template[place] = {"containers": taken} if place == "containerSet" else taken
    if containers:
        template["sidecars"] = [*template.get("sidecars", ()), *containers]
    if "initContainers" in spec:
        template["initContainers"] = spec["initContainers"]
    workflow["templateDefaults"] = defaults
    other: Value = {"name": "other", "container": {"name": "c", "image": "i"}}
    step, task = {"name": "s", "inline": template}, {"name": "d", "inline": template}
    match chance.randrange(3):
        case 0:
            workflow["templates"] = [template, other]
        case 1:
            workflow["templates"] = [{"name": "all", "steps": [[{"name": "a", "template": "other"}], [step]]}, other]
        case _:
            workflow["templates"] = [other, {"name": "all", "dag": {"tasks": [task, {"name": "e", "inline": other}]}}]
    return workflow


def _spark(metadata: Value, spec: Value, chance: random.Random) -> Value:
    pieces = spread(metadata, chance, 2)
    part: Value = {**pieces[1]}
    template: Value = {"metadata": pieces[0], "spec": {}}
    lay(spec, [template["spec"], part], chance, ("tolerations", "affinity", "schedulerName", "priorityClassName", "nodeSelector"))
    containers = list(spec["containers"])
    count = chance.randrange(len(containers) + 1)
    if count:
        template["spec"]["containers"] = containers[:count]
    if count < len(containers):
        part["sidecars"] = containers[count:]
    if "initContainers" in spec:
        chance.choice((template["spec"], part))["initContainers"] = spec["initContainers"]
    if chance.random() < 0.8:
        part["template"] = template
    part["image"] = "i"
    resources = [one["resources"] for one in containers if isinstance(one.get("resources"), dict)]
    asked = [key for one in resources if isinstance(one.get("limits"), dict) for key in one["limits"]] or ["nvidia.com/gpu"]
    part["gpu"] = {"name": chance.choice(asked), "quantity": chance.choice((0, 1, 3, 101))}
    application = {chance.choice(("driver", "executor")): part}
    if "nodeSelector" in spec and chance.random() < 0.5:
        application["nodeSelector"] = spec["nodeSelector"]
    return application


def _inference(metadata: Value, spec: Value, chance: random.Random) -> Value:
    component = {**spec, **metadata}
    server = chance.choice(("model", "sklearn", "triton", "containers"))
    if server != "containers":
        component[server] = component["containers"][0]
        component["containers"] = component["containers"][1:]
        if not component["containers"] or chance.random() < 0.3:
            del component["containers"]
    match chance.randrange(5):
        case 0:
            return {"predictor": {**component, "workerSpec": {**metadata, **spec}}}
        case 1:
            return {"predictor": {"model": {"name": "m"}}, "transformer": {**metadata, **spec}}
        case 2:
            return {"predictor": {}, "explainer": {**metadata, **spec, "art": {"name": "a", "image": "i"}}}
        case 3:
            return {"canary": [{"predictor": {"name": "c", **component}}]}
    return {"predictor": component}


def _llm(metadata: Value, spec: Value, chance: random.Random) -> Value:
    part = {**metadata, chance.choice(("template", "worker")): spec}
    return part if chance.random() < 0.5 else {"prefill": part}


def _train(metadata: Value, spec: Value, chance: random.Random) -> Value:
    resources = spec["containers"][0].get("resources")
    if isinstance(resources, dict):
        # The same under limits and requests is one finding to Python, which shows both at the line of the trainer.
        resources = {key: resources[key] for key in ("limits",) if key in resources}
    pod = {"metadata": metadata, "spec": spec}
    jobs = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": pod}}}]}}}
    return {
        "trainer": {"image": "i", **({"resourcesPerNode": resources} if resources is not None else {})},
        **chance.choice(
            ({"podTemplateOverrides": [pod]}, {"podSpecOverrides": [spec]}, {"runtimePatches": [{"trainingRuntimeSpec": jobs}]})
        ),
    }


def _nested(key: str, make: Make) -> Make:
    return lambda metadata, spec, chance: {key: make(metadata, spec, chance)}


KINDS: tuple[tuple[str, str, Make], ...] = (
    ("argoproj.io/v1alpha1", "Workflow", _workflow),
    ("argoproj.io/v1alpha1", "WorkflowTemplate", _workflow),
    ("argoproj.io/v1alpha1", "CronWorkflow", _nested("workflowSpec", _workflow)),
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication", _spark),
    ("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", _nested("template", _spark)),
    ("serving.kserve.io/v1beta1", "InferenceService", _inference),
    ("serving.kserve.io/v1beta1", "LLMInferenceService", _llm),
    ("serving.kserve.io/v1beta1", "ServingRuntime", lambda metadata, spec, _: {**metadata, **spec}),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob", _train),
)
