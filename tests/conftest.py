"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout under test."""
    return Path(__file__).parent.parent
