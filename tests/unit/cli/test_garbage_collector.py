"""The garbage collector of a command, and of a server."""

import gc
from collections.abc import Iterator

import pytest

from volary.cli import garbage_collector


@pytest.fixture
def collector_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    # Not taken back: thousands of tests and modules were frozen before, and had to be looked at
    # in every test from here on.
    gc.freeze()


@pytest.mark.usefixtures("collector_as_before")
def test_what_is_there_is_left_alone_and_what_comes_is_still_collected() -> None:
    lasting: list[object] = [{"name": number} for number in range(10)]

    garbage_collector.wait_for_imports()
    garbage_collector.leave_alone_what_is_there()

    assert gc.get_freeze_count() > len(lasting)
    assert gc.isenabled()
    circle: list[object] = []
    circle.append(circle)
    del circle
    assert gc.collect() >= 1
