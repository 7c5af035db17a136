"""One API server for all tests of a run that ask for it. It fails loudly when it cannot be built or started, and is never skipped."""

from collections.abc import Iterator

import pytest

from cluster.build import components
from cluster.server import ApiServer


@pytest.fixture(scope="session")
def api_server() -> Iterator[ApiServer]:
    """A running kube-apiserver with nothing in it."""
    with ApiServer(components()) as server:
        yield server
