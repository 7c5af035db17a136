"""One API server, through the `kubernetes` client: an answer is an answer, whatever its status; only silence is an error."""

import json
import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from gpuvet.values.errors import EngineError, UsageError

_QUOTED = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_NOT_ALLOWED = re.compile(r'User "[^"]*" cannot ')


class Answer(NamedTuple):
    """What an API server answered. `warnings` are the texts of its `Warning` headers."""

    status: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What it says of a refusal, on one line."""
        return " ".join(str(self.body.get("message") or f"HTTP {self.status}").split())


class Resource(NamedTuple):
    """Where objects of a kind are created."""

    base: str
    plural: str
    namespaced: bool

    def path(self, namespace: str) -> str:
        """`namespace` counts where the kind has one."""
        inside = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced else ""
        return f"{self.base}{inside}/{self.plural}"


class Cluster:
    """Questions to the API server that a kubeconfig names. `timeout` is in seconds, for each of them."""

    def __init__(self, kubeconfig: str | None, context: str | None, timeout: float) -> None:
        """Raises UsageError when there is no such cluster."""
        from kubernetes import client, config

        configuration = client.Configuration()
        self.namespace = "default"
        """Where objects go that do not say it."""
        try:
            if kubeconfig is None and context is None:
                config.load_config(client_configuration=configuration)
            else:
                config.load_kube_config(kubeconfig, context, client_configuration=configuration)
        except Exception as error:  # noqa: BLE001 - the client reads YAML, base64 and files of all kinds, and says so in its own ways
            raise UsageError(f"there is no cluster to ask: {_line(error)}; name it with --kubeconfig and --context") from None
        try:
            contexts, active = config.list_kube_config_contexts(kubeconfig)
            named = next((one for one in contexts if one["name"] == context), active)
            self.namespace = named["context"].get("namespace") or self.namespace
        except (config.ConfigException, OSError, KeyError, TypeError):
            # Inside a cluster there is no kubeconfig.
            pass
        self.name = f"the API server at {configuration.host}"
        self.timeout = timeout
        configuration.retries = False
        self._api = client.ApiClient(configuration)
        self._served: dict[str, dict[str, Resource]] = {}

    def request(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Answer:
        """Raises EngineError when nobody answers, or nobody who may be asked."""
        answer = self.ask(method, path, query, body)
        if answer.status == 401:
            raise EngineError(f"{self.name} does not know who asks (401): are the credentials still good?", "unauthorized")
        if answer.status == 403 and _NOT_ALLOWED.search(answer.message):
            raise EngineError(f"{self.name}: {answer.message}", "forbidden")
        if answer.status == 429 or answer.status >= 500:
            raise EngineError(f"{self.name} failed ({answer.status}): {answer.message[:500]}", "failed")
        return answer

    def ask(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Answer:
        """Whatever is answered. Raises EngineError when nothing is."""
        from urllib3.exceptions import HTTPError, InsecureRequestWarning, ProtocolError

        made, url, headers, data, _ = self._api.param_serialize(
            method, path, query_params=list((query or {}).items()), body=body, auth_settings=["BearerToken"]
        )
        headers |= {"Accept": "application/json"} | ({"Content-Type": "application/json"} if body is not None else {})

        def send() -> Answer:
            with warnings.catch_warnings():
                # Whoever writes `insecure-skip-tls-verify` into a kubeconfig has been told.
                warnings.simplefilter("ignore", InsecureRequestWarning)
                response = self._api.call_api(made, url, headers, data, _request_timeout=self.timeout).response
            return _read(response.status, response.data, response.headers.getlist("Warning"))

        try:
            try:
                return send()
            except ProtocolError:
                # A server may close a connection that was idle at the moment when it is used again.
                return send()
        except HTTPError as error:
            raise self._silent(error) from None

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """Where objects of that kind are created, None when it is not served. Raises EngineError."""
        if not re.fullmatch(r"([a-z0-9.-]+/)?[a-z0-9]+", api_version):
            return None
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if base not in self._served:
            answer = self.request("GET", base)
            listed = answer.body.get("resources") if answer.status == 200 else ()
            self._served[base] = {
                each["kind"]: Resource(base, each["name"], each["namespaced"]) for each in listed or () if "/" not in each["name"]
            }
        return self._served[base].get(kind)

    def _silent(self, error: Exception) -> EngineError:
        from urllib3.exceptions import MaxRetryError, NewConnectionError, SSLError
        from urllib3.exceptions import TimeoutError as Late

        cause: Any = error.reason if isinstance(error, MaxRetryError) else error
        if isinstance(cause, Late) and not isinstance(cause, NewConnectionError):
            return EngineError(f"{self.name} did not answer within {self.timeout:g} seconds", "timeout")
        if isinstance(cause, SSLError):
            return EngineError(f"{self.name}: TLS failed ({_line(cause)}); does the kubeconfig hold its CA?", "tls")
        return EngineError(f"{self.name} cannot be reached: {_line(cause)}", "unreachable")


def _read(status: int, data: bytes, headers: list[str]) -> Answer:
    try:
        body = json.loads(data)
    except ValueError:
        body = {"message": data.decode("utf-8", "replace")[:300]}
    return Answer(status, body if isinstance(body, dict) else {}, tuple(text for header in headers for text in warning_texts(header)))


def warning_texts(header: str) -> list[str]:
    """The texts of a `Warning` header as HTTP carries it: UTF-8 read as Latin-1, quoted."""
    raw = header.encode("latin-1", "replace").decode("utf-8", "replace")
    return [re.sub(r"\\(.)", r"\1", match[1]) for match in _QUOTED.finditer(raw)]


def _line(error: BaseException) -> str:
    words = " ".join(str(error).split())
    words = re.sub(r"^<[^>]*>: |^\S*HTTPS?Connection\S*\([^)]*\): ", "", words)
    return words if len(words) <= 300 else words[:299] + "…"
