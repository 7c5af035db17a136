"""One OPA server, through OPA-python-client: every failure is an EngineError of one line, and nothing takes longer than it may."""

import re
import threading
from collections.abc import Callable
from pathlib import Path as FilePath
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import requests
from opa_client.errors import ConnectionsError, DeletePolicyError, PolicyNotFoundError, RegoParseError
from opa_client.opa import OpaClient
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, SSLError

from gpuvet.values.errors import EngineError, UsageError

T = TypeVar("T")
LARGEST = 64 << 20
"""Bytes of an answer that are read."""
_THREADS = 64
"""Connections that are kept: the webhook asks from as many threads."""


class Access(NamedTuple):
    """How to reach a server. `timeout` is in seconds, for one question as a whole."""

    url: str
    token_file: FilePath | None = None
    ca: FilePath | None = None
    """PEM file of the CA that signed the server's certificate; else those that `certifi` knows."""
    cert: FilePath | None = None
    key: FilePath | None = None
    """Client certificate and key, for servers that want one."""
    timeout: float = 5.0


class PolicyRefusedError(EngineError):
    """The server does not take a policy, or does not let go of one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "policy")


class Connection:
    """Questions to one server. Safe to share between threads."""

    def __init__(self, access: Access) -> None:
        """Raises UsageError when the URL or a file cannot be right."""
        self.access = access
        self.url = access.url.rstrip("/")
        self.name = f"OPA at {self.url}"
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.username:
            raise UsageError(f"{access.url}: not the URL of an OPA server, such as http://localhost:8181")
        for file in (access.ca, access.cert, access.key, access.token_file):
            if file is not None and not file.is_file():
                raise UsageError(f"{file}: no such file")
        if access.cert is None and access.key is not None:
            raise UsageError(f"{access.key}: a client key goes with a client certificate")
        secure = parts.scheme == "https"
        certificate = None if access.cert is None else (str(access.cert), str(access.key or access.cert))
        name = f"[{host}]" if ":" in host else host
        # The client takes the file of a CA for its `ssl`.
        trust = str(access.ca) if secure and access.ca is not None else secure
        self._client = _Client(
            self, host=name, port=port or (443 if secure else 80), ssl=trust, cert=certificate, timeout=access.timeout, retries=0
        )
        self._client.root_url = f"{self.url}/v1"

    def packages(self) -> dict[str, str]:
        """Id of every policy that the server holds -> its package. Raises EngineError."""
        found: dict[str, Any] = self._within(self._client.get_policies_info)
        prefix = f"{self.url}/v1/data/"
        return {name: str(about["path"]).removeprefix(prefix).replace("/", ".") for name, about in found.items()}

    def policy(self, name: str) -> str | None:
        """The text of a policy, None when there is none. Raises EngineError."""
        try:
            answer = self._within(lambda: self._client.get_policy(name))
        except PolicyNotFoundError:
            return None
        raw = answer.get("result", {}).get("raw") if isinstance(answer.get("result"), dict) else None
        if not isinstance(raw, str):
            raise self.nonsense(f"the text of policy {name} is missing")
        return raw

    def put_policy(self, name: str, text: str) -> None:
        """Raises PolicyRefusedError when the server cannot compile it, EngineError for everything else."""
        try:
            self._within(lambda: self._client.update_policy_from_string(text, name, rego_compat=False))
        except RegoParseError as error:
            raise PolicyRefusedError(f"{self.name} refuses policy {name}: {_told(error)}") from None

    def delete_policy(self, name: str) -> None:
        """Raises PolicyRefusedError when others hang on it, EngineError for everything else."""
        try:
            self._within(lambda: self._client.delete_policy(name))
        except DeletePolicyError as error:
            raise PolicyRefusedError(f"{self.name} does not let go of policy {name}: {error.message}") from None

    def ask(self, package: str, rule: str | None, value: Any, until: float | None = None) -> Any:
        """What a package, or a rule of it, says of an input; None when it is undefined. `until` is a moment of the monotonic clock.

        Raises EngineError.
        """
        answer = self._within(lambda: self._client.query_rule(value, package, rule), until)
        return answer.get("result")

    def nonsense(self, why: str) -> EngineError:
        """The error to raise when an answer cannot be understood."""
        return EngineError(f"{self.name} answers nonsense: {why}; is it an OPA server?", "nonsense")

    def _within(self, call: Callable[[], T], until: float | None = None) -> T:
        """Asks in a thread: a server that sends a byte a second would keep a socket's own timeout quiet for ever."""
        begun = monotonic()
        end = begun + self.access.timeout if until is None else until
        box: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

        def run() -> None:
            try:
                box.put((call(), None))
            except Exception as error:  # noqa: BLE001 - handed on
                box.put((None, error))

        threading.Thread(target=run, name="opa", daemon=True).start()
        try:
            answer, error = box.get(timeout=max(0.001, end - monotonic()))
        except Empty:
            raise self._late(end - begun) from None
        if error is None:
            return answer  # type: ignore[return-value]
        if isinstance(error, EngineError | RegoParseError | DeletePolicyError | PolicyNotFoundError):
            raise error
        raise self._explained(error) from None

    def _late(self, seconds: float) -> EngineError:
        return EngineError(f"{self.name} did not answer within {max(seconds, 0):.2g} seconds", "timeout")

    def _explained(self, error: Exception) -> EngineError:
        if isinstance(error, ConnectionsError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        cause = _root(error)
        if isinstance(error, requests.exceptions.SSLError) or isinstance(cause, SSLError):
            untrusted = "CERTIFICATE_VERIFY_FAILED" in str(cause)
            cure = (
                "name the CA that signed its certificate"
                if untrusted
                else "does it speak TLS on this port, and does it want a certificate?"
            )
            return EngineError(f"{self.name}: TLS failed ({_short(cause)}); {cure}", "tls")
        if isinstance(error, requests.exceptions.Timeout | TimeoutError):
            return self._late(self.access.timeout)
        if isinstance(error, requests.exceptions.InvalidJSONError):
            return EngineError("the object has no JSON form, so it cannot be sent", "input")
        if isinstance(error, requests.exceptions.ConnectionError | ConnectionError):
            return EngineError(f"{self.name} cannot be reached: {_short(cause)}; is it running?", "unreachable")
        if isinstance(error, OSError) and not isinstance(error, requests.exceptions.RequestException):
            return EngineError(f"{self.name}: {_short(error)}", "unreachable")
        return self.nonsense(_short(error))


class _Client(OpaClient):  # type: ignore[misc]
    """The client with a session of ours."""

    def __init__(self, connection: Connection, **rest: Any) -> None:
        self._connection = connection
        super().__init__(**rest)

    def _init_session(self) -> requests.Session:
        session = _Session(self._connection)
        # A proxy, netrc or CA bundle of the environment would replace the token and the CA that were asked for.
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=0, pool_maxsize=_THREADS))
        session.verify = self.ssl or True
        session.cert = self.cert
        return session


class _Session(requests.Session):
    """Sends the token as its file has it now, reads no more than it should, and takes nothing for an answer that OPA would not say."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def request(self, method: Any, url: Any, *others: Any, **rest: Any) -> requests.Response:
        # OPA sends what ends in a slash elsewhere.
        url = str(url).rstrip("/")
        headers = {**(rest.pop("headers", None) or {}), **self._authorization()}
        rest |= {"headers": headers, "stream": True, "allow_redirects": False}
        try:
            response = super().request(method, url, *others, **rest)
        except requests.exceptions.ConnectionError as error:
            if isinstance(error, requests.exceptions.Timeout | requests.exceptions.SSLError):
                raise
            # A server may close a connection that was idle at the moment when it is used again.
            response = super().request(method, url, *others, **rest)
        with response:
            try:
                body = response.raw.read(LARGEST + 1, decode_content=True)
            except HTTPError as error:
                raise requests.exceptions.ConnectionError(error) from None
        response._content = body
        self._judge(response, body)
        return response

    def _authorization(self) -> dict[str, str]:
        file = self._connection.access.token_file
        if file is None:
            return {}
        try:
            token = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise EngineError(f"{file}: the token cannot be read: {error}", "token") from None
        if not token or not token.isascii() or not token.isprintable():
            raise EngineError(f"{file}: holds no token", "token")
        return {"Authorization": f"Bearer {token}"}

    def _judge(self, response: requests.Response, body: bytes) -> None:
        connection, status = self._connection, response.status_code
        if status in (401, 403):
            cure = "wants a token: name its file" if connection.access.token_file is None else f"refuses the token of {self._token()}"
            raise EngineError(f"{connection.name} {cure} (HTTP {status})", "unauthorized")
        if 300 <= status < 400:
            raise EngineError(f"{connection.name} sends us on to {response.headers.get('Location', '?')}; name that URL", "redirect")
        if len(body) > LARGEST:
            raise connection.nonsense(f"more than {LARGEST >> 20} MiB")
        try:
            answer = response.json()
        except ValueError:
            raise connection.nonsense(f"HTTP {status} and no JSON") from None
        if not isinstance(answer, dict):
            raise connection.nonsense("JSON, but no object")
        if status >= 500 or (status >= 400 and response.request.method == "POST"):
            raise EngineError(f"{connection.name} failed: {_told(answer)}", "failed")

    def _token(self) -> str:
        return str(self._connection.access.token_file)


def _told(error: Any) -> str:
    """What OPA says is wrong, with the first of its complaints."""
    message, errors = (error.message, error.errors) if isinstance(error, RegoParseError) else (error.get("message"), error.get("errors"))
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else None
    words = str(first.get("message")) if first is not None else str(message or "it does not say why")
    place = first.get("location") if first is not None else None
    if isinstance(place, dict) and place.get("row"):
        words = f"{place.get('file') or 'policy'}:{place['row']}: {words}"
    return _line(words)


def _root(error: BaseException) -> BaseException:
    """What lies under the layers of requests and urllib3."""
    while True:
        inner = getattr(error, "reason", None) or next((part for part in error.args if isinstance(part, BaseException)), None)
        if not isinstance(inner, BaseException):
            return error
        error = inner


def _short(error: BaseException) -> str:
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    # urllib3 says first which connection it was.
    return _line(re.sub(r"^.*\[Errno -?\d+\] ", "", words))


def _line(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= 300 else words[:299] + "…"
