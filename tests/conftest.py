"""What all tests share."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long a case takes is the machine's affair, and other tests' on it.
settings.register_profile("gpuvet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gpuvet")


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout under test."""
    return Path(__file__).parent.parent
