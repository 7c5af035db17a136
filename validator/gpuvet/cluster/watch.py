"""Objects of a live cluster, listed and watched. What is not synced is unknown, never absent."""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from random import uniform
from time import monotonic
from typing import Any, NamedTuple

from gpuvet.engine.context import Fact
from gpuvet.resolve.fields import Resolver
from gpuvet.values.errors import GpuvetError
from gpuvet.values.total import UNKNOWN, Unknown

log = logging.getLogger("gpuvet.webhook")
_PAGE = 500
_WATCH_SECONDS = 60
"""A connection that died without a word is noticed after so long."""
_LONGEST = 30
"""Times `retry`: after that long a server that does not answer, a missing kind or permission is asked for again."""
_FIRST_LIST_SECONDS = 5.0
"""Readiness waits so long for the first lists; then what is missing is unknown."""


class Watched(NamedTuple):
    """A kind that rules look up. `keep`: the parts of its objects that rules read, besides metadata."""

    kind: str
    path: str
    keep: tuple[str, ...] = ("spec",)
    namespaced: bool = True

    @property
    def resource(self) -> tuple[str, str]:
        """(API group, resource), as RBAC names it."""
        parts = self.path.split("/")
        return (parts[2] if parts[1] == "apis" else "", parts[-1])


KINDS = (
    Watched("WorkloadProfile", "/apis/tensor-fusion.ai/v1/workloadprofiles"),
    Watched("TensorFusionWorkload", "/apis/tensor-fusion.ai/v1/tensorfusionworkloads"),
    Watched("GPUPool", "/apis/tensor-fusion.ai/v1/gpupools", namespaced=False),
    Watched("GPUResourceQuota", "/apis/tensor-fusion.ai/v1/gpuresourcequotas"),
    Watched("Device", "/apis/scheduling.koordinator.sh/v1alpha1/devices", namespaced=False),
    Watched("Node", "/api/v1/nodes", ("spec.taints", "status.capacity", "status.allocatable"), namespaced=False),
    Watched("Namespace", "/api/v1/namespaces", (), namespaced=False),
)

Open = Callable[[str, Mapping[str, str]], Any]
"""(path, query) -> an HTTP response whose `stream` yields bytes; raises on an error status."""


class ClusterError(GpuvetError):
    """The API server refuses a list or watch."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Gone(Exception):
    """The resource version is too old: list again."""


class ClusterContext:
    """Answers from the cluster. `told(kind, synced)` hears of every change."""

    def __init__(
        self, told: Callable[[str, bool], None], open_: Open | None = None, retry: float = 1.0, kinds: tuple[Watched, ...] = KINDS
    ) -> None:
        self._told = told
        self._open = open_ or open_cluster()
        self._retry = retry
        self._kinds = kinds
        self._namespaced = {watched.kind: watched.namespaced for watched in kinds}
        self._objects: dict[str, dict[tuple[str | None, str], Fact]] = {watched.kind: {} for watched in kinds}
        self._synced: dict[str, bool] = dict.fromkeys(self._objects, False)
        self._lock = threading.Lock()
        self._started = monotonic()
        self._ready = False
        self._stop = threading.Event()

    def start(self) -> None:
        """One thread a kind; they end with the process."""
        self._started = monotonic()
        for watched in self._kinds:
            self._told(watched.kind, False)
            threading.Thread(target=self._run, args=(watched,), name=f"watch-{watched.kind}", daemon=True).start()

    def stop(self) -> None:
        """Ends the watches at their next event."""
        self._stop.set()

    def ready(self) -> bool:
        """Every kind was listed, or has had its time. What is lost later is unknown, and no reason not to answer."""
        self._ready = self._ready or monotonic() - self._started > _FIRST_LIST_SECONDS
        return self._ready

    default_namespace: str | None = None

    def is_complete(self, kind: str) -> bool:
        """While it is synced."""
        return self._synced.get(kind, False)

    def find(self, kind: str, name: str, namespace: str | None, file: str) -> Fact | Unknown | None:
        """The object of that identity; None only while the kind is synced and the namespace is known."""
        if not self._synced.get(kind) or (namespace is None and self._namespaced[kind]):
            return UNKNOWN
        return self._objects[kind].get((namespace if self._namespaced[kind] else None, name))

    def find_all(self, kind: str) -> list[Fact] | Unknown:
        """All objects of a kind, while it is synced."""
        if not self._synced.get(kind):
            return UNKNOWN
        with self._lock:
            return list(self._objects[kind].values())

    @property
    def remembered(self) -> dict[str, Any]:
        """A new one each time: what rules worked out from all objects of a kind holds only until one of them changes."""
        return {}

    @remembered.setter
    def remembered(self, value: dict[str, Any]) -> None:
        """Nothing is kept."""

    @property
    def resolvers(self) -> dict[bytes, Resolver]:
        """A new one each time, for the same reason."""
        return {}

    @resolvers.setter
    def resolvers(self, value: dict[bytes, Resolver]) -> None:
        """Nothing is kept."""

    def neighbourhood(self, file: str) -> str:
        """A cluster looks the same from everywhere."""
        return ""

    def find_named(self, kind: str, name: str) -> list[Fact]:
        """Those of a kind that have this name, in any namespace."""
        found = self.find_all(kind)
        return [] if isinstance(found, Unknown) else [fact for fact in found if fact.name == name]

    def _run(self, watched: Watched) -> None:
        pause = self._retry / 10
        while not self._stop.is_set():
            try:
                version = self._list(watched)
                self._mark(watched.kind, True)
                while not self._stop.is_set():
                    begun = monotonic()
                    version = self._watch(watched, version)
                    pause = self._retry / 10
                    # A server that ends every watch at once is not to be asked without a pause.
                    self._stop.wait(max(0.0, begun + self._retry - monotonic()))
            except Gone:
                # Known until the new list is there, if that is soon.
                if pause > self._retry:
                    self._mark(watched.kind, False, "its watches end at once")
                self._stop.wait(pause)
            except Exception as error:  # noqa: BLE001 - whatever the network or the server does, the answer is "unknown"
                self._mark(watched.kind, False, f"{type(error).__name__}: {str(error)[:200]}")
                pause = max(pause, self._retry)
                self._stop.wait(pause if getattr(error, "status", None) not in (403, 404) else self._retry * _LONGEST)
            # A server in trouble is asked for whole lists less and less often, and not by all replicas in step.
            pause = min(pause * uniform(1.5, 2.5), self._retry * _LONGEST)  # noqa: S311

    def _mark(self, kind: str, synced: bool, why: str = "") -> None:
        if self._synced[kind] != synced or why:
            self._synced[kind] = synced
            self._ready = self._ready or all(self._synced.values())
            self._told(kind, synced)
            log.info("%s %s", kind, "is watched" if synced else f"is unknown: {why}")

    def _list(self, watched: Watched) -> str:
        found: dict[tuple[str | None, str], Fact] = {}
        token = ""
        while True:
            query = {"limit": str(_PAGE)} | ({"continue": token} if token else {})
            page = json.loads(b"".join(_chunks(self._open(watched.path, query))))
            for item in page.get("items") or ():
                fact = _fact(watched, item)
                found[fact.namespace, fact.name] = fact
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                break
        with self._lock:
            self._objects[watched.kind] = found
        return str(page["metadata"]["resourceVersion"])

    def _watch(self, watched: Watched, version: str) -> str:
        """One watch until the server ends it; returns where to go on."""
        query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": str(_WATCH_SECONDS)}
        for line in _lines(_chunks(self._open(watched.path, query))):
            event = json.loads(line)
            item = event.get("object") or {}
            if event.get("type") == "ERROR":
                if item.get("code") == 410:
                    raise Gone
                raise RuntimeError(item.get("message") or "watch failed")
            version = (item.get("metadata") or {}).get("resourceVersion") or version
            if event.get("type") != "BOOKMARK":
                self._apply(watched, event.get("type"), item)
            if self._stop.is_set():
                break
        return version

    def _apply(self, watched: Watched, change: str, item: dict[str, Any]) -> None:
        fact = _fact(watched, item)
        with self._lock:
            if change == "DELETED":
                self._objects[watched.kind].pop((fact.namespace, fact.name), None)
            else:
                self._objects[watched.kind][fact.namespace, fact.name] = fact


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""As large as the object itself."""


def _fact(watched: Watched, item: dict[str, Any]) -> Fact:
    metadata = item.get("metadata") or {}
    kept: dict[str, Any] = {"kind": watched.kind}
    for place in watched.keep:
        part, _, inner = place.partition(".")
        if not inner:
            kept |= {part: item[part]} if part in item else {}
        elif inner in (item.get(part) or {}):
            kept.setdefault(part, {})[inner] = item[part][inner]
    kept["metadata"] = {part: metadata[part] for part in ("name", "namespace", "labels") if part in metadata}
    if annotations := {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _LAST_APPLIED}:
        kept["metadata"]["annotations"] = annotations
    return Fact(watched.kind, metadata.get("namespace"), str(metadata.get("name")), kept, f"cluster {watched.kind}", "", 0, (), None)


def _chunks(response: Any) -> Iterator[bytes]:
    try:
        yield from response.stream(1 << 16)
    finally:
        response.release_conn()


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def open_cluster() -> Open:
    """Talks to the cluster that this Pod (or the kubeconfig) belongs to, through the `kubernetes` client.

    Raises kubernetes.config.ConfigException when there is neither.
    """
    from kubernetes import client, config

    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()
    api = client.ApiClient()

    def open_(path: str, query: Mapping[str, str]) -> Any:
        method, url, headers, _, _ = api.param_serialize("GET", path, query_params=list(query.items()), auth_settings=["BearerToken"])
        headers["Accept"] = "application/json"
        answer = api.call_api(method, url, headers, _request_timeout=(3.05, _WATCH_SECONDS + 30))
        if answer.status == 410:
            raise Gone
        if answer.status >= 400:
            raise ClusterError(f"{path} answers {answer.status} {answer.reason}", answer.status)
        return answer.response

    return open_
