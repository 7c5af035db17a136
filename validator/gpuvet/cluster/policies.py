"""The policies that are asked: those that the cluster enforces, or copies that judge nothing but the questions of one test."""

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpuvet.cluster.access import Answer, Cluster, Resource
from gpuvet.cluster.answers import Spoken, denial, is_cut, warned
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import Severity

_BASE = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{_BASE}/validatingadmissionpolicies"
BINDINGS = f"{_BASE}/validatingadmissionpolicybindings"
LABEL = "gpuvet-test"
"""`app.kubernetes.io/name` of copies."""
_START = 180.0
"""Seconds within which an API server must have compiled the copies."""
_PAUSE = 0.25
_ACTIONS: Mapping[str, Severity] = {"Deny": "error", "Warn": "warning"}

Written = tuple[dict[str, Any], dict[str, Any]]
"""A policy with its binding."""


class Asked(NamedTuple):
    """What came of asking about an object."""

    refusal: str
    """Why the API server refused it before any policy was asked; empty when they were."""
    said: list[Spoken]
    """The policies by their own names."""


class _Policy(NamedTuple):
    name: str
    severity: Severity
    rules: list[dict[str, Any]]

    @staticmethod
    def of(written: Written) -> "_Policy":
        policy, binding = written
        severity = next(_ACTIONS[action] for action in binding["spec"]["validationActions"] if action in _ACTIONS)
        return _Policy(policy["metadata"]["name"], severity, policy["spec"]["matchConstraints"]["resourceRules"])

    def concerns(self, resource: Resource) -> bool:
        parts = resource.base.split("/")
        group, version = (parts[2], parts[3]) if parts[1] == "apis" else ("", parts[2])
        return any(
            group in rule["apiGroups"] and resource.plural in rule["resources"] and {version, "*"} & set(rule["apiVersions"])
            for rule in self.rules
        )


def concerning(policies: Iterable[Written], resources: Iterable[Resource]) -> list[Written]:
    """Those that may speak of one of the resources."""
    listed = list(resources)
    return [written for written in policies if any(map(_Policy.of(written).concerns, listed))]


class Enforced:
    """The policies that a cluster enforces."""

    def __init__(self, cluster: Cluster, policies: Iterable[Written]) -> None:
        self._cluster = cluster
        self._policies = [_Policy.of(written) for written in policies]
        self.severities: dict[str, Severity] = {policy.name: policy.severity for policy in self._policies}

    def ask(self, resource: Resource, namespace: str, value: dict[str, Any]) -> Asked:
        """Creates an object for show. Raises EngineError when what all policies say cannot be known."""
        answer = _create(self._cluster, resource, namespace, value, {})
        first = denial(answer)
        said = [spoken for spoken in warned(answer) if spoken.policy in self.severities]
        if first is not None and first.policy in self.severities:
            others = [policy for policy in self._policies if policy.severity == "error" and policy.concerns(resource)]
            if len(others) > 1:
                why = f"it names only the first policy that denies, {first.policy}, and {len(others) - 1} more could"
                raise EngineError(f"{self._cluster.name}: {why}; with --apply each is asked", "first")
            said.append(first)
        elif not _admitted(answer):
            return Asked(answer.message, [])
        if is_cut(answer):
            raise EngineError(f"{self._cluster.name} cuts its warnings, not all are known; with --apply each policy is asked", "cut")
        return Asked("", said)


def check_enforced(cluster: Cluster, policies: Iterable[Written], source: str) -> None:
    """Raises EngineError unless the cluster enforces these policies, as they are, and no other of ours."""
    wanted = {policy["metadata"]["name"]: (policy, binding) for policy, binding in policies}
    there = [_listed(cluster, path) for path in (POLICIES, BINDINGS)]
    missing = sorted(name for name in wanted if any(name not in found for found in there))
    differing = sorted(
        name
        for name, written in wanted.items()
        if name not in missing and not all(_holds(found[name]["spec"], each["spec"]) for found, each in zip(there, written, strict=True))
    )
    more = sorted((there[0].keys() | there[1].keys()) - wanted.keys())
    if not (missing or differing or more):
        return
    told = (("are not there", missing), ("are different", differing), ("are of another configuration", more))
    words = "; ".join(f"{_names(names)} {said}" for said, names in told if names)
    cure = "write them with `gpuvet generate policies --target vap`, apply them with kubectl, or add --apply for the time of the test"
    raise EngineError(f"{cluster.name} does not enforce the policies of {source}: {words}; {cure}", "empty")


class Copies:
    """Copies of policies that judge only what one test asks, by its field manager, and only warn: every policy is heard."""

    def __init__(self, cluster: Cluster, policies: Iterable[Written]) -> None:
        self._cluster = cluster
        self._written = list(policies)
        self._policies = [_Policy.of(written) for written in self._written]
        self.severities: dict[str, Severity] = {policy.name: policy.severity for policy in self._policies}
        self._id = f"{LABEL}-{secrets.token_hex(4)}"
        self._originals = {f"{self._id}-{number}": policy.name for number, policy in enumerate(self._policies)}
        self._made: list[str] = []

    def apply(self, namespace: str) -> None:
        """Brings them, and waits until the API server asks them. Raises EngineError."""
        for (policy, binding), copy in zip(self._written, self._originals, strict=True):
            self._put(copy, policy["spec"], binding["spec"].get("matchResources"))
        # The API server learns of policies and of bindings in their order: once it asks the last, it asks all.
        self._put(self._id, _SENTINEL, None)
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._id}}
        end = time.monotonic() + max(_START, self._cluster.timeout)
        while not self._heard(_create(self._cluster, Resource("/api/v1", "configmaps", True), namespace, probe, self._manager(""))):
            if time.monotonic() > end:
                raise EngineError(f"{self._cluster.name} does not ask the policies of the test after {_START:g} seconds", "timeout")
            time.sleep(_PAUSE)

    def remove(self) -> None:
        """Takes them away. Raises EngineError that says how, when it cannot be done."""
        left = []
        for name in reversed(self._made):
            for path in (BINDINGS, POLICIES):
                try:
                    answer = self._cluster.request("DELETE", f"{path}/{name}")
                    left += [name] if answer.status >= 300 and answer.status != 404 else []
                except EngineError:
                    left.append(name)
        self._made.clear()
        if left:
            kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings"
            cure = f"kubectl delete {kinds} -l app.kubernetes.io/name={LABEL}"
            raise EngineError(f"{self._cluster.name} still holds policies of the test ({_names(sorted(set(left)))}): {cure}", "left")

    def ask(self, resource: Resource, namespace: str, value: dict[str, Any]) -> Asked:
        """Creates an object for show. Raises EngineError when what all policies say cannot be known."""
        answer = self._create(resource, namespace, value)
        if not self._heard(answer):
            return Asked(answer.message, [])
        if not is_cut(answer):
            return Asked("", self._own(answer))
        said: list[Spoken] = []
        for copy, policy in zip(self._originals, self._policies, strict=True):
            if policy.concerns(resource):
                answer = _create(self._cluster, resource, namespace, value, self._manager(copy))
                if is_cut(answer):
                    raise EngineError(f"{self._cluster.name} cuts what {policy.name} says, together with the warnings of others", "cut")
                said += self._own(answer)
        return Asked("", said)

    def _create(self, resource: Resource, namespace: str, value: dict[str, Any]) -> Answer:
        """The answer after policies were asked, or with which the API server refused the object before."""
        for _ in range(40):
            answer = _create(self._cluster, resource, namespace, value, self._manager(""))
            broken = denial(answer)
            if broken is not None and broken.policy in self._originals:
                raise EngineError(f"{self._cluster.name}: {self._originals[broken.policy]} failed: {broken.text[:300]}", "evaluation")
            if self._heard(answer) or not _admitted(answer):
                return answer
            # One of several API servers that has not heard of the policies yet.
            time.sleep(_PAUSE)
        raise EngineError(f"{self._cluster.name} does not ask the policies of the test any more: did somebody remove them?", "empty")

    def _heard(self, answer: Answer) -> bool:
        """Whether one of the copies spoke. Were the warnings cut, the sentinel may be missing."""
        return any(spoken.policy.startswith(self._id) for spoken in warned(answer))

    def _own(self, answer: Answer) -> list[Spoken]:
        return [Spoken(self._originals[one.policy], one.text) for one in warned(answer) if one.policy in self._originals]

    def _manager(self, copy: str) -> dict[str, str]:
        """Calls on one copy, or on all of them and the sentinel."""
        return {"fieldManager": copy or self._id}

    def _put(self, name: str, spec: Mapping[str, Any], where: Any) -> None:
        names = [self._id] if name == self._id else [self._id, name]
        managers = json.dumps(names)
        asked = {
            "name": "is-asked-by-this-test",
            "expression": f"request.dryRun && has(request.options.fieldManager) && request.options.fieldManager in {managers}",
        }
        conditions = [asked, *spec.get("matchConditions", ())]
        policy = {**spec, "matchConditions": conditions, "failurePolicy": "Fail"}
        binding = {"policyName": name, "validationActions": ["Warn"]} | ({"matchResources": where} if where else {})
        metadata = {"name": name, "labels": {"app.kubernetes.io/name": LABEL, "app.kubernetes.io/component": "policy"}}
        self._made.append(name)
        for path, kind, made in ((POLICIES, "", policy), (BINDINGS, "Binding", binding)):
            value = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"ValidatingAdmissionPolicy{kind}",
                "metadata": metadata,
                "spec": made,
            }
            answer = self._cluster.request("POST", path, body=value)
            if answer.status >= 300:
                about = self._originals.get(name, name)
                raise EngineError(f"{self._cluster.name} does not take {about}: {answer.message[:500]}", "policy")


@contextmanager
def copies(cluster: Cluster, policies: Iterable[Written], namespace: str) -> Iterator[Copies]:
    """Copies that are gone afterwards. Raises EngineError."""
    made = Copies(cluster, policies)
    try:
        made.apply(namespace)
        yield made
    except EngineError as error:
        try:
            made.remove()
        except EngineError as other:
            # Who may make nothing may remove nothing either.
            raise (error if error.reason == "forbidden" else EngineError(f"{error}; {other}", error.reason)) from None
        raise
    finally:
        made.remove()


_SENTINEL: Mapping[str, Any] = {
    "matchConstraints": {
        "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"], "scope": "*"}]
    },
    "validations": [{"expression": "false", "message": "policies were asked"}],
}
"""Tells an object that no policy minds from one that no policy was asked about."""


def _create(cluster: Cluster, resource: Resource, namespace: str, value: dict[str, Any], query: Mapping[str, str]) -> Answer:
    return cluster.request("POST", resource.path(namespace), {"dryRun": "All", "fieldValidation": "Ignore", **query}, value)


def _admitted(answer: Answer) -> bool:
    """Whether it came as far as the policies: names are looked up, and quotas charged, behind them."""
    return answer.status < 300 or answer.body.get("reason") == "AlreadyExists" or "exceeded quota: " in answer.message


def _listed(cluster: Cluster, path: str) -> dict[str, dict[str, Any]]:
    answer = cluster.request("GET", path, {"labelSelector": "app.kubernetes.io/name=gpuvet,app.kubernetes.io/component=policy"})
    if answer.status != 200:
        raise EngineError(f"{cluster.name} serves no {path.rpartition('/')[2]} ({answer.status}): Kubernetes 1.30 does", "empty")
    return {item["metadata"]["name"]: item for item in answer.body.get("items") or ()}


def _holds(theirs: Any, ours: Any) -> bool:
    """Whether what the API server keeps is what was written, but for what it has filled in."""
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and all(key in theirs and _holds(theirs[key], value) for key, value in ours.items())
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(theirs) == len(ours) and all(map(_holds, theirs, ours))
    return bool(theirs == ours)


def _names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
