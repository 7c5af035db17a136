"""The engines outside of gpuvet that the settings want asked, too."""

from gpuvet.engine.outside import Outside
from gpuvet.settings.config import Settings
from gpuvet.values.errors import UsageError


def outside(settings: Settings) -> tuple[Outside, ...]:
    """Made, not yet asked. Raises UsageError when the extra is not installed or a file is missing."""
    if settings.opa is None:
        return ()
    need_client()
    from gpuvet.opa.connection import Access, Connection
    from gpuvet.opa.packages import Packages

    opa = settings.opa
    access = Access(opa.url, opa.token_file, opa.ca, opa.cert, opa.key, opa.timeout)
    return (Packages(Connection(access), opa.packages, opa.denies_when_silent),)


def need_client() -> None:
    """Raises UsageError when OPA-python-client is not installed."""
    from importlib.util import find_spec

    if find_spec("opa_client") is None:
        raise UsageError("OPA is asked through OPA-python-client, which is not installed: pip install 'gpuvet[opa]'")


def need_cluster() -> None:
    """Raises UsageError when the client of Kubernetes is not installed."""
    from importlib.util import find_spec

    if find_spec("kubernetes") is None:
        raise UsageError("an API server is asked through the client of Kubernetes, which is not installed: pip install 'gpuvet[cluster]'")
