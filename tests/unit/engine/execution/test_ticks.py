"""Common moments of all tasks."""

import hypothesis
from hypothesis import strategies

from volary.engine.execution import ticks


@hypothesis.given(strategies.floats(0, 1e7), strategies.sampled_from((0.2, 0.5, 1.0)))
def test_the_next_beat_is_never_now_and_never_far(now: float, seconds: float) -> None:
    found = ticks.next_tick(now, seconds)
    assert now < found <= now + seconds * 1.001


def test_whoever_asks_between_two_beats_gets_the_same() -> None:
    assert ticks.next_tick(7.01, 0.5) == ticks.next_tick(7.49, 0.5) == 7.5
