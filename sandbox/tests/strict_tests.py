"""How every test runs: strict about tasks, in its process's time; of Volary and its sandbox."""

import asyncio
import gc
import inspect
import os
from collections.abc import AsyncIterator, Callable, Generator, Mapping

import hypothesis
import pytest

import process_time

# How long one example takes says more about the machine's other work than about ours, and what is
# found by chance is found by those who look for it: `pytest --hypothesis-profile exploring`.
hypothesis.settings.register_profile(
    "exploring",
    hypothesis.settings.default,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "repeatable", hypothesis.settings.get_profile("exploring"), derandomize=True
)
hypothesis.settings.load_profile("repeatable")


@pytest.hookimpl
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Limits of time count what a test's process got of the machine."""
    return {"process time": process_time.Loop}


@pytest.fixture
async def no_leftover_tasks() -> AsyncIterator[None]:
    """A test that leaves tasks running fails."""
    before = asyncio.all_tasks()
    yield
    # The teardown of this fixture runs in a task of its own.
    present = asyncio.all_tasks() - before - {asyncio.current_task()}
    leftover = [task for task in present if not task.done()]
    assert not leftover, f"the test left tasks running: {leftover}"


@pytest.fixture(autouse=True)
def _strict_tasks(request: pytest.FixtureRequest) -> None:
    """Put the check around asynchronous tests only: the others have no loop."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("no_leftover_tasks")


def pytest_configure() -> None:
    """Keep synchronous tests without a loop.

    The virtual-time plugin asks the policy for a loop around each test, and the policy
    would make one that nobody closes.
    """
    asyncio.set_event_loop(None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector.

    Nearly nothing of what is made is garbage, and to look for it again and again takes a quarter
    of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Thousands of tests and what they import stay: the collector need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three workers a processor: much of what scenarios take is waiting."""
    return 3 * (os.cpu_count() or 1)
