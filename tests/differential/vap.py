"""A real API server with the generated policies, whose verdicts are read from its audit log.

The policies are installed as written, but that nothing is denied (`validationActions: [Audit]`), so that the answer to a dry-run
creation is the object as the policies saw it, decoded and defaulted; and that an evaluation that fails is a verdict of its own
(`failurePolicy: Fail`).
"""

import http.client
import json
import re
import ssl
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cluster.server import TOKEN, ApiServer
from e2e.cluster import install_definitions, resource_path, until

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
WORKERS = 8
_WHOLE = 10 * 1024 - 8
"""Bytes of an audit annotation from which on the API server may have cut it."""


class Seen(NamedTuple):
    """What the API server made of an object."""

    refused: str
    """Why it was not even asked of the policies; empty when it was."""
    value: dict[str, Any]
    """The object as the policies saw it."""
    found: frozenset[tuple[str, str]]
    """(rule, path)."""
    errors: tuple[str, ...]
    cut: bool = False
    """More may have been found than the API server's audit log holds."""


@contextmanager
def policed(binaries: Path, folder: Path) -> Iterator["Policed"]:
    """An API server that knows every kind of the workload table."""
    audit, log = folder / "audit-policy.json", folder / "audit.log"
    audit.write_text(json.dumps(_AUDIT), "utf-8")
    with ApiServer(binaries, f"--audit-policy-file={audit}", f"--audit-log-path={log}", "--max-mutating-requests-inflight=800") as server:
        install_definitions(server)
        asked = Policed(server, log)
        try:
            yield asked
        finally:
            asked.close()


class Policed:
    """An API server and its audit log."""

    def __init__(self, server: ApiServer, log: Path) -> None:
        self.server = server
        self.log = log
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[http.client.HTTPSConnection] = []
        self._offset = 0
        self._names: set[str] = set()

    def install(self, policies: Iterable[tuple[dict[str, Any], dict[str, Any]]], actions: tuple[str, ...] = ("Audit",)) -> float:
        """Puts policies in place of those that are there; the seconds until they are enforced."""
        start = time.monotonic()
        self.remove()
        # With a mark of this installation in every policy: the API server follows with a delay.
        mark = uuid.uuid4().hex
        for policy, binding in policies:
            name = policy["metadata"]["name"]
            policy = json.loads(json.dumps(policy))
            policy["spec"]["failurePolicy"] = "Fail"
            policy["spec"]["auditAnnotations"].append({"key": "mark", "valueExpression": f"'{mark}'"})
            conditions = policy["spec"]["matchConditions"]
            probe = "(has(dyn(object).metadata.labels) && 'probe.gpuvet.test' in dyn(object).metadata.labels)"
            for condition in conditions:
                if condition["name"] == "concerns-a-rule":
                    condition["expression"] = f"{probe} || ({condition['expression']})"
            binding = {**binding, "spec": {**binding["spec"], "validationActions": [*actions]}}
            for path, value in ((POLICIES, policy), (BINDINGS, binding)):
                answer = self.server.request("POST", path, value)
                assert answer.ok, f"{name}: {answer.message[:2000]}"
            self._names.add(name)
        wanted = {f"{name}/mark" for name in self._names}
        until(lambda: self._marked(mark) >= wanted, 300)
        return time.monotonic() - start

    def remove(self) -> None:
        """Takes all policies away."""
        for name in self._names:
            for path in (BINDINGS, POLICIES):
                self.server.request("DELETE", f"{path}/{name}")
        self._names.clear()

    def close(self) -> None:
        """Closes the connections."""
        for connection in self._connections:
            connection.close()

    def _marked(self, mark: str) -> set[str]:
        """Policies that have judged one of three probes."""
        found: set[str] = set()
        for probe in _PROBES:
            annotations = self._annotations([self._send(probe)[1]])
            for each in annotations.values():
                found |= {key for key, value in each.items() if value == mark}
        return found

    def judge(self, values: list[dict[str, Any]]) -> list[Seen]:
        """What the API server makes of objects, in their order."""
        with ThreadPoolExecutor(WORKERS) as pool:
            answers = list(pool.map(self._send, values))
        logged = self._annotations([audit for status, audit, _ in answers if status < 300])
        found = []
        for status, audit, body in ((answer[0], answer[1], answer[2]) for answer in answers):
            said = str(body.get("message", "")) if isinstance(body, dict) else ""
            if "ValidatingAdmissionPolicy '" in said:
                # Nothing is denied here, but an evaluation that fails is.
                found.append(Seen("", {}, frozenset(), (said,)))
                continue
            if status >= 300:
                found.append(Seen(str(body.get("message", body)) if isinstance(body, dict) else str(body), {}, frozenset(), ()))
                continue
            annotations = logged[audit]
            texts = [value for key, value in annotations.items() if key.endswith("/violations")]
            cut = any(len(text.encode()) > _WHOLE for text in texts)
            whole = [text if len(text.encode()) <= _WHOLE else text.rpartition("; ")[0] for text in texts]
            pairs = frozenset((one.partition(" ")[0], one.partition(" ")[2]) for text in whole for one in text.split("; "))
            failures = json.loads(annotations.get(_FAILURE, "[]"))
            errors = tuple(one["message"] for one in failures if "resulted in error" in one["message"] or "fails to" in one["message"])
            found.append(Seen("", body, pairs, errors, cut))
        return found

    def _send(self, value: dict[str, Any]) -> tuple[int, str, Any]:
        """One dry-run creation: status, audit id, body."""
        audit = str(uuid.uuid4())
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Audit-ID": audit}
        if not re.fullmatch(r"[!-~]+", f"{value['apiVersion']}{value['kind']}"):
            return 404, audit, "not a kind that is served"
        try:
            with self._lock:
                path = resource_path(self.server, value)
        except (KeyError, StopIteration, AttributeError, TypeError):
            return 404, audit, "not a kind that is served"
        if not (path.isascii() and path.isprintable() and " " not in path):
            return 404, audit, "not a kind that is served"
        body = json.dumps(value).encode()
        for _ in range(2):
            if not hasattr(self._local, "connection"):
                context = ssl.create_default_context()
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                self._local.connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60, context=context)
                self._connections.append(self._local.connection)
            try:
                self._local.connection.request("POST", f"{path}?dryRun=All", body, headers)
                reply = self._local.connection.getresponse()
                text = reply.read()
            except (OSError, http.client.HTTPException):
                self._local.connection.close()
                del self._local.connection
                continue
            try:
                return reply.status, audit, json.loads(text)
            except ValueError:
                return reply.status, audit, text.decode("utf-8", "replace")
        raise RuntimeError("the API server does not answer")

    def _annotations(self, audits: list[str]) -> dict[str, dict[str, str]]:
        """Audit id -> annotations; the log is read from where the last reading ended."""
        wanted = set(audits)
        found: dict[str, dict[str, str]] = {}
        end = time.monotonic() + 30
        while wanted - found.keys() and time.monotonic() < end:
            with self.log.open("rb") as log:
                log.seek(self._offset)
                for line in log:
                    if not line.endswith(b"\n"):
                        break
                    self._offset = self._offset + len(line)
                    event = json.loads(line)
                    if event["auditID"] in wanted:
                        found[event["auditID"]] = event.get("annotations") or {}
            time.sleep(0.02)
        return {audit: found.get(audit, {}) for audit in audits}


_CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
_LABELS = {"probe.gpuvet.test": "yes", "kubernetes.io/metadata.name": "x"}
_PROBES: tuple[dict[str, Any], ...] = (
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "labels": _LABELS}, "spec": _CONTAINERS},
    {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "probe", "labels": _LABELS},
     "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {**_CONTAINERS, "restartPolicy": "Never"}}}}}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe", "labels": _LABELS},
     "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": _CONTAINERS}}},
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
    {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
    {"apiVersion": "tensor-fusion.ai/v1", "kind": "WorkloadProfile", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "labels": _LABELS}, "data": {}},
    {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "probe", "labels": _LABELS}, "rules": []},
    {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": {"name": "probe", "labels": _LABELS}, "spec": {}},
)  # fmt: skip
"""Objects of which every policy judges one."""
