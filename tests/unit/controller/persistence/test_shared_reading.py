"""Many look, and one reads."""

import asyncio

import pytest

from volary.controller.persistence import change_signal, shared_reading

pytestmark = pytest.mark.looptime


class Source:
    """Says how often it was read; takes a second for that."""

    def __init__(self) -> None:
        self.count = 0
        self.signal = change_signal.ChangeSignal()
        self.lifetime = 10.0
        self.fails = False
        self.shared = shared_reading.SharedReading(self.read, self.signal, lambda: self.lifetime)

    async def read(self) -> int:
        self.count += 1
        mine = self.count
        await asyncio.sleep(1)
        if self.fails:
            raise ValueError("it cannot be read")
        return mine


async def test_those_who_ask_at_a_time_and_soon_after_get_the_same() -> None:
    source = Source()

    at_a_time = await asyncio.gather(*(source.shared.get() for _ in range(200)))
    after = await source.shared.get()

    assert set(at_a_time) == {after} == {1}


async def test_what_was_signalled_before_somebody_asked_is_in_the_answer() -> None:
    source = Source()
    async with asyncio.TaskGroup() as group:
        early = group.create_task(source.shared.get())
        await asyncio.sleep(0.5)
        source.signal.notify_all()
        late = [group.create_task(source.shared.get()) for _ in range(50)]

    assert early.result() == 1
    assert {each.result() for each in late} == {2}


async def test_however_much_changes_reading_takes_a_fifth_of_the_time() -> None:
    source, loop = Source(), asyncio.get_running_loop()
    began = loop.time()
    while loop.time() < began + 100:
        source.signal.notify_all()
        await source.shared.get()

    assert 18 <= source.count <= 22


async def test_what_nobody_signals_is_read_again_in_time() -> None:
    source = Source()
    await source.shared.get()
    await asyncio.sleep(5)
    soon = await source.shared.get()
    await asyncio.sleep(5)
    later = await source.shared.get()

    assert (soon, later) == (1, 2)


async def test_what_goes_wrong_is_told_and_tried_again() -> None:
    source = Source()
    source.fails = True
    with pytest.raises(ValueError, match="cannot be read"):
        await source.shared.get()
    source.fails = False

    assert await source.shared.get() == 2
