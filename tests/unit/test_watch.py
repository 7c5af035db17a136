"""A live cluster as a context: lists, watches, and what is unknown when they fail. The API server is played by a small HTTP server."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3

from gpuvet.cluster.watch import KINDS, ClusterContext, ClusterError, Gone, Watched
from gpuvet.engine.context import Fact
from gpuvet.values.total import UNKNOWN

PROFILE = Watched("WorkloadProfile", "/profiles")
NODE = Watched("Node", "/nodes", ("spec.taints", "status.capacity"), namespaced=False)


class Api:
    """Lists what it holds, page by page, and streams what is put into `events`; None ends a watch."""

    def __init__(self) -> None:
        self.items: dict[str, list[dict[str, Any]]] = {"/profiles": [], "/nodes": []}
        self.status = 200
        self.lists = 0
        self.asked = 0
        self.watches: list[Mapping[str, list[str]]] = []
        self.events: queue.Queue[Any] = queue.Queue()
        self.page = 2
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = parse_qs(url.query)
                api.asked += 1
                if api.status != 200:
                    self.send_error(api.status)
                elif "watch" in query:
                    api.watches.append(query)
                    self._watch()
                else:
                    self._list(url.path, query)

            def _list(self, path: str, query: Mapping[str, list[str]]) -> None:
                start = int(query.get("continue", ["0"])[0])
                items = api.items[path]
                api.lists += start == 0
                metadata = {"resourceVersion": "100"} | ({"continue": str(start + api.page)} if start + api.page < len(items) else {})
                data = json.dumps({"metadata": metadata, "items": items[start : start + api.page]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _watch(self) -> None:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while (event := api.events.get()) is not None:
                    if event == "cut":
                        self.close_connection = True
                        return
                    data = json.dumps(event).encode() + b"\n"
                    # In two pieces: lines do not end where packets do.
                    for piece in (data[:10], data[10:]):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.pool = urllib3.PoolManager()

    def open(self, path: str, query: Mapping[str, str]) -> Any:
        """As `open_cluster` gives it."""
        answer = self.pool.request(
            "GET",
            f"http://127.0.0.1:{self.server.server_port}{path}",
            fields=dict(query),
            preload_content=False,
            retries=False,
            timeout=urllib3.Timeout(connect=1, read=5),
        )
        if answer.status == 410:
            raise Gone
        if answer.status >= 400:
            raise ClusterError(f"{path} answers {answer.status}", answer.status)
        return answer


def item(name: str, namespace: str | None = "team-a", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | ({"namespace": namespace} if namespace else {}), "spec": {"qos": "low"}} | more


def event(change: str, value: dict[str, Any], version: str = "101") -> dict[str, Any]:
    return {"type": change, "object": value | {"metadata": value["metadata"] | {"resourceVersion": version}}}


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


@pytest.fixture(name="api")
def api_fixture() -> Iterator[Api]:
    api = Api()
    yield api
    for _ in range(20):
        api.events.put(None)
    api.server.shutdown()
    api.server.server_close()
    api.pool.clear()


@pytest.fixture(name="told")
def told_fixture() -> dict[str, bool]:
    return {}


@pytest.fixture(name="start")
def start_fixture(api: Api, told: dict[str, bool]) -> Iterator[Callable[..., ClusterContext]]:
    started: list[ClusterContext] = []

    def start(*kinds: Watched) -> ClusterContext:
        context = ClusterContext(told.__setitem__, api.open, retry=0.05, kinds=kinds or (PROFILE,))
        started.append(context)
        context.start()
        return context

    yield start
    for context in started:
        context.stop()


def found(context: ClusterContext, name: str, namespace: str | None = "team-a", kind: str = "WorkloadProfile") -> Any:
    answer = context.find(kind, name, namespace, "")
    return answer.value if isinstance(answer, Fact) else answer


def test_lists_all_pages(api: Api, start: Callable[..., ClusterContext], told: dict[str, bool]) -> None:
    api.items["/profiles"] = [item(f"p{number}") for number in range(5)]
    context = start()
    until(lambda: told.get("WorkloadProfile", False))
    assert context.ready()
    assert context.is_complete("WorkloadProfile")
    facts = context.find_all("WorkloadProfile")
    assert isinstance(facts, list)
    assert sorted(fact.name for fact in facts) == [f"p{number}" for number in range(5)]
    assert found(context, "p4")["spec"] == {"qos": "low"}
    assert found(context, "p4", "team-b") is None
    assert found(context, "p9") is None
    assert found(context, "p4", None) is UNKNOWN
    assert context.find("Other", "x", "team-a", "") is UNKNOWN
    assert context.find_all("Other") is UNKNOWN
    assert not context.is_complete("Other")


def test_before_the_first_list_all_is_unknown(api: Api, told: dict[str, bool]) -> None:
    context = ClusterContext(told.__setitem__, api.open, kinds=(PROFILE,))
    assert found(context, "p") is UNKNOWN
    assert context.find_all("WorkloadProfile") is UNKNOWN
    assert not context.ready()


def test_events_are_followed(api: Api, start: Callable[..., ClusterContext]) -> None:
    context = start()
    api.events.put(event("ADDED", item("p")))
    until(lambda: isinstance(found(context, "p"), dict))
    api.events.put(event("MODIFIED", item("p", spec={"qos": "high"})))
    until(lambda: found(context, "p")["spec"] == {"qos": "high"})
    api.events.put(event("DELETED", item("p")))
    until(lambda: found(context, "p") is None)


def test_watch_goes_on_where_it_ended(api: Api, start: Callable[..., ClusterContext], told: dict[str, bool]) -> None:
    context = start()
    api.events.put(event("ADDED", item("p"), "105"))
    api.events.put({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "120"}}})
    api.events.put(None)
    until(lambda: len(api.watches) == 2)
    assert [query["resourceVersion"] for query in api.watches] == [["100"], ["120"]]
    assert api.lists == 1
    assert isinstance(found(context, "p"), dict)
    assert told == {"WorkloadProfile": True}


def test_version_that_is_gone_means_a_new_list(api: Api, start: Callable[..., ClusterContext]) -> None:
    api.items["/profiles"] = [item("old")]
    context = start()
    until(lambda: isinstance(found(context, "old"), dict))
    api.items["/profiles"] = [item("new")]
    api.events.put({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
    until(lambda: isinstance(found(context, "new"), dict))
    assert found(context, "old") is None
    assert api.lists == 2


def test_server_in_trouble_is_asked_less_and_less(api: Api, start: Callable[..., ClusterContext]) -> None:
    """Whole lists are dear. Without pauses that grow there would be 20 of them in a second, or as many watches as fit in."""
    api.status = 500
    begun = time.monotonic()
    context = start()
    time.sleep(1.5)
    assert 3 < api.asked < 10
    api.status = 200
    until(lambda: context.is_complete("WorkloadProfile"), 5)
    assert time.monotonic() - begun < 5
    for _ in range(1000):
        api.events.put(None)
    time.sleep(0.5)
    assert 2 < len(api.watches) < 20


@pytest.mark.parametrize("end", ["cut", {"type": "ERROR", "object": {"code": 500, "message": "etcd"}}], ids=["cut", "error"])
def test_lost_watch_is_unknown_until_it_is_back(api: Api, start: Callable[..., ClusterContext], told: dict[str, bool], end: Any) -> None:
    api.items["/profiles"] = [item("p")]
    context = start()
    until(lambda: told.get("WorkloadProfile", False))
    api.status = 500
    api.events.put(end)
    until(lambda: told["WorkloadProfile"] is False)
    assert found(context, "p") is UNKNOWN
    assert context.find_all("WorkloadProfile") is UNKNOWN
    assert not context.is_complete("WorkloadProfile")
    assert context.ready()
    api.status = 200
    until(lambda: told["WorkloadProfile"])
    assert isinstance(found(context, "p"), dict)


@pytest.mark.parametrize("status", [403, 404])
def test_missing_definition_or_permission_is_unknown(
    api: Api, start: Callable[..., ClusterContext], told: dict[str, bool], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    api.status = status
    with caplog.at_level("INFO", "gpuvet.webhook"):
        context = start()
        until(lambda: any("is unknown" in record.getMessage() for record in caplog.records))
    assert told == {"WorkloadProfile": False}
    assert found(context, "p") is UNKNOWN
    assert str(status) in caplog.text


def test_one_kind_does_not_wait_for_another(api: Api, start: Callable[..., ClusterContext], told: dict[str, bool]) -> None:
    api.items["/nodes"] = [item("n", None, spec={"taints": [1], "podCIDR": "x"}, status={"capacity": {"cpu": "1"}, "images": ["large"]})]
    del api.items["/profiles"]
    context = start(PROFILE, NODE)
    until(lambda: told.get("Node", False))
    node = found(context, "n", None, "Node")
    assert node["status"] == {"capacity": {"cpu": "1"}}
    assert node["spec"] == {"taints": [1]}
    assert found(context, "n", "team-a", "Node") == node
    assert found(context, "p") is UNKNOWN


def test_what_rules_do_not_read_is_not_kept(api: Api, start: Callable[..., ClusterContext]) -> None:
    large = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 1000, "tensor-fusion.ai/x": "1"}
    api.items["/profiles"] = [item("p", status={"large": "x"}) | {"metadata": {"name": "p", "namespace": "team-a", "annotations": large}}]
    context = start()
    until(lambda: isinstance(found(context, "p"), dict))
    assert "x" * 10 not in json.dumps(found(context, "p"))
    assert found(context, "p")["metadata"]["annotations"] == {"tensor-fusion.ai/x": "1"}


def test_readiness_does_not_wait_for_ever(api: Api, told: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuvet.cluster.watch._FIRST_LIST_SECONDS", 0.0)
    assert ClusterContext(told.__setitem__, api.open, kinds=(PROFILE,)).ready()


def test_all_kinds_that_rules_look_up_are_watched() -> None:
    from gpuvet.compiled.catalogue import RULES

    # A name after the kind: one object of an installation, which only files tell.
    assert {kind for rule in RULES for kind in rule.finds if "/" not in kind} <= {watched.kind for watched in KINDS}
