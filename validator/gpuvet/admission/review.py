"""AdmissionReview in, AdmissionReview out: a pure function over bytes. It never changes the object and never raises."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import orjson

from gpuvet.admission.bare import BareDocument
from gpuvet.admission.words import denial_message, warning_texts
from gpuvet.engine.conditions import is_controller
from gpuvet.engine.context import Context
from gpuvet.engine.judge import Judge
from gpuvet.engine.outside import Outside
from gpuvet.engine.placing import object_reference
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import SEVERITIES, Finding, Location
from gpuvet.values.span import Span

MAX_BODY = 8 << 20
"""Bytes of a review that are read at all; the API server's own limit for an object is 3 MiB, and an update carries two."""

_GENERAL_KINDS = frozenset(("Node", "ConfigMap", "ClusterRole", "Role"))
"""Kinds that a cluster cannot do without: system:nodes are never denied on them."""
SILENT = "IN014"
"""The rule of engines that do not answer."""


SHARE = 0.75
"""Of the time that the API server waits, what judging may take. The rest is for the way here and back."""
Until = tuple[float, float]
"""Moments of the monotonic clock: for the new object, and for the old one of an update."""


class RuleState(NamedTuple):
    """The rules that answer a request; swapped as a whole when they are reloaded."""

    judge: Judge
    context: Context
    digest: str
    """Of the rule set, in audit annotations and metrics."""
    owners: frozenset[tuple[str, str]]
    """(API group, kind) whose Pod templates are judged, so that their Pods were judged already."""
    outside: tuple[Outside, ...] = ()
    """Engines that are asked, too."""


class Outcome(NamedTuple):
    """An HTTP answer, and what is to be counted and logged."""

    status: int
    body: bytes
    verdict: str
    """`allowed`, `warned`, `denied`, `passed` (not looked at), `refused` (no review), `unjudged` (no verdict: `failurePolicy` decides)."""
    rules: tuple[str, ...] = ()
    kind: str = ""
    record: Mapping[str, Any] | None = None
    """For the log, when there is more to say than a plain allow. Never the object."""
    crashes: tuple[str, ...] = ()
    """Rules that failed: our bug, which denies nothing."""
    silent: tuple[str, ...] = ()
    """Why engines outside gave no answer, one word each."""


def review(body: bytes, state: RuleState, until: Until = (inf, inf)) -> Outcome:
    """Answers one request. `until`: when engines outside are no longer waited for."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _refused(f"the body is not JSON: {error}")
    if type(request) is not dict or request.get("kind") != "AdmissionReview":
        return _refused("the body is not an AdmissionReview")
    version = request.get("apiVersion")
    if version != "admission.k8s.io/v1":
        return _refused(f"apiVersion is {_word(version)!r}; this webhook speaks admission.k8s.io/v1")
    asked = request.get("request")
    uid = asked.get("uid") if type(asked) is dict else None
    if type(asked) is not dict or type(uid) is not str or not uid:
        return _refused("the review has no request with a uid")
    value = asked.get("object")
    kind = _kind(asked)
    if type(value) is not dict or _passes(asked, value):
        return _answer(uid, "passed", kind=kind)
    try:
        return _judge(uid, asked, value, kind, state, until)
    except RecursionError:
        return unjudged(asked, "the object is nested too deep to be judged")


def late(body: bytes, message: str) -> Outcome:
    """`unjudged` for a body that `review` was not done with."""
    try:
        asked = orjson.loads(body)["request"]
    except (ValueError, KeyError, TypeError):
        asked = None
    return unjudged(asked if type(asked) is dict else {}, message)


def unjudged(asked: Mapping[str, Any], message: str) -> Outcome:
    """No verdict on a request, and why: what then happens is up to `failurePolicy`. Where it is Fail, the API server shows the message."""
    kind = _kind(asked)
    return Outcome(500, f"gpuvet: {message}".encode(), "unjudged", kind=kind, record=_record(asked, kind, "unjudged", message))


def _passes(asked: Mapping[str, Any], value: dict[str, Any]) -> bool:
    """Whether the request is none of ours: deleting, connecting, subresources, objects that are going away."""
    if asked.get("operation") not in ("CREATE", "UPDATE") or asked.get("subResource"):
        return True
    metadata = value.get("metadata")
    return type(metadata) is dict and metadata.get("deletionTimestamp") is not None


def _judge(uid: str, asked: Mapping[str, Any], value: dict[str, Any], kind: str, state: RuleState, until: Until) -> Outcome:
    namespace = asked.get("namespace")
    findings, crashes, silent = _findings(value, namespace, state, until[0])
    if not findings and not crashes:
        return _answer(uid, "allowed", kind=kind)
    errors = [finding for finding in findings if finding.severity == "error"]
    softer = [finding for finding in findings if finding.severity != "error"]
    reason = ""
    if errors and asked.get("operation") == "UPDATE" and type(asked.get("oldObject")) is dict:
        earlier, _, silent_before = _findings(asked["oldObject"], namespace, state, until[1])
        before = {finding.fingerprint for finding in earlier if finding.rule != SILENT}
        silent = (*silent, *silent_before)
        old = [finding for finding in errors if finding.fingerprint in before]
        errors = [finding for finding in errors if finding.fingerprint not in before]
        if old and not errors:
            reason = "was so before"
        softer = old + softer
    if errors and (excuse := _excuse(asked, value, state)):
        reason, softer, errors = excuse, errors + softer, []
    rules = tuple(sorted({finding.rule for finding in findings}))
    verdict = "denied" if errors else "warned" if softer else "allowed"
    record = {**_record(asked, kind, verdict, reason), "rules": list(rules), "digest": state.digest}
    if crashes:
        record["crashed"] = crashes
    if silent:
        record["silent"] = silent
    audit = {"rules": ",".join(rules), "rules-digest": state.digest} if findings else {}
    if reason:
        audit["not-denied-because"] = reason
    message = denial_message(errors) if errors else None
    crashed = tuple(sorted({crash.partition(":")[0] for crash in crashes}))
    answer = _answer(uid, verdict, message, warning_texts(softer), audit, rules, kind, record, crashed)
    return answer._replace(silent=silent) if silent else answer


def _record(asked: Mapping[str, Any], kind: str, verdict: str, because: str) -> dict[str, Any]:
    """What the log says of a request."""
    return {
        "verdict": verdict,
        "uid": _word(asked.get("uid")),
        "operation": _word(asked.get("operation")),
        "kind": kind,
        "namespace": _word(asked.get("namespace")),
        "name": _word(asked.get("name")),
        "user": _word(_user(asked).get("username")),
        "dryRun": bool(asked.get("dryRun")),
        "because": because,
    }


def _word(value: Any) -> str | None:
    """For the log: whoever reaches the port may send anything in the place of a name."""
    return value[:256] if type(value) is str else None


def _findings(value: dict[str, Any], namespace: Any, state: RuleState, until: float) -> tuple[list[Finding], list[str], tuple[str, ...]]:
    """Findings, worst first, `RULE: error` for each rule that failed, and why engines outside were silent."""
    if type(namespace) is str and namespace:
        metadata = value.get("metadata")
        if type(metadata) is dict and not metadata.get("namespace"):
            value = {**value, "metadata": {**metadata, "namespace": namespace}}
    found: list[Finding] = []
    crashes: list[str] = []
    silent: tuple[str, ...] = ()
    document = BareDocument(value)
    for verdict in state.judge.judge(document, "", state.context):
        found += verdict.findings
        crashes += [f"{crash.rule.info.id}: {crash.error}"[:300] for crash in verdict.crashes[:10]]
        for engine in state.outside:
            try:
                found += engine.judge(document, verdict.path, value, "", until)
            except EngineError as error:
                silent = (*silent, error.reason)
                found.append(_silence(engine, error, value))
    if len(found) > 1:
        found.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.rule, finding.path_text))
    return found, crashes, silent


def _silence(engine: Outside, error: EngineError, value: dict[str, Any]) -> Finding:
    """What the configuration makes of an engine that does not answer: a denial or a warning."""
    return Finding(
        rule=SILENT,
        name="engine-silent",
        severity="error" if engine.denies_when_silent else "warning",
        consequence="input-not-read",
        message=str(error),
        expected=None,
        actual=None,
        location=Location("", Span(1, 1, 1, 2)),
        path=(),
        path_text="",
        object=object_reference(value),
        related=(),
        fix=None,
    )


def _excuse(asked: Mapping[str, Any], value: dict[str, Any], state: RuleState) -> str:
    """Why the request must not be denied whatever is wrong with it; empty when it may."""
    user = _user(asked)
    name, groups = user.get("username"), user.get("groups")
    if value.get("kind") in _GENERAL_KINDS and type(groups) is list and "system:nodes" in groups:
        return "a node speaks of itself"
    namespace = asked.get("namespace")
    if type(name) is str and is_controller(name, namespace if type(namespace) is str else "") and _owned(value, state):
        return "a controller makes this for an owner that was judged"
    return ""


def _user(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    user = asked.get("userInfo")
    return user if type(user) is dict else {}


def _owned(value: dict[str, Any], state: RuleState) -> bool:
    """Whether a covered kind controls the object: a Pod's ReplicaSet, a ReplicaSet's Deployment, a Job's CronJob."""
    metadata = value.get("metadata")
    owners = metadata.get("ownerReferences") if type(metadata) is dict else None
    for owner in owners if type(owners) is list else ():
        if type(owner) is dict and owner.get("controller") is True:
            version, kind = owner.get("apiVersion"), owner.get("kind")
            return type(version) is str and type(kind) is str and (version.rpartition("/")[0], kind) in state.owners
    return False


def _kind(asked: Mapping[str, Any]) -> str:
    kind = asked.get("kind")
    name = kind.get("kind") if type(kind) is dict else None
    return name[:64] if type(name) is str else ""


def _answer(
    uid: str,
    verdict: str,
    message: str | None = None,
    warnings: list[str] | None = None,
    audit: Mapping[str, str] | None = None,
    rules: tuple[str, ...] = (),
    kind: str = "",
    record: Mapping[str, Any] | None = None,
    crashes: tuple[str, ...] = (),
) -> Outcome:
    response: dict[str, Any] = {"uid": uid, "allowed": message is None}
    if message is not None:
        response["status"] = {"status": "Failure", "code": 422, "reason": "Invalid", "message": message}
    if warnings:
        response["warnings"] = warnings
    if audit:
        response["auditAnnotations"] = audit
    answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    try:
        body = orjson.dumps(answer)
    except TypeError:
        # Half of a surrogate pair, from an escape in JSON inside an annotation: no UTF-8, but an escape again.
        body = json.dumps(answer).encode()
    return Outcome(200, body, verdict, rules, kind, record, crashes)


def _refused(message: str) -> Outcome:
    return Outcome(400, message.encode() + b"\n", "refused", record={"verdict": "refused", "because": message})
