"""What has to hold whatever happens, in simulated worlds.

``VOLARY_SIMULATION_SEEDS=1-5000 pytest tests/simulation`` tries more seeds than the suite does; a
failure names its seed, and ``PYTHONPATH=tests:sandbox/tests python -m simulation SEED`` plays it
again, with all that happened.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from simulation import plays, sources

#: Worlds that one test plays.
_LOT = 10
_SEEDS = os.environ.get("VOLARY_SIMULATION_SEEDS", "1-60")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> sources.Source:
    return plays.make_source(tmp_path_factory.mktemp("repository"))


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """A failure says what happened; nobody reads the rest."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


def _lots(seeds: Iterable[int]) -> list[Sequence[int]]:
    every = list(seeds)
    return [every[place : place + _LOT] for place in range(0, len(every), _LOT)]


@pytest.mark.parametrize(
    "seeds", _lots(plays.parse_seeds(_SEEDS)), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_whatever_happens(seeds: Sequence[int], source: sources.Source) -> None:
    for seed in seeds:
        plays.play(seed, source)


def test_a_seed_makes_the_same_world_in_every_process(source: sources.Source) -> None:
    first, second = plays.play(3, source), plays.play(3, source)
    assert first.notes == second.notes
    assert first.digest in _simulation("3").stdout


def test_each_mistake_in_the_product_is_noticed() -> None:
    # In processes of their own: nothing of a product that is wrong stays behind.
    played = _simulation("--mutation", "all")
    assert played.returncode == 0, played.stdout + played.stderr


def _simulation(*arguments: str) -> "subprocess.CompletedProcess[str]":
    folders = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONHASHSEED": "7"}
    return subprocess.run(
        [sys.executable, "-m", "simulation", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
