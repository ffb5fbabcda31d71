import logging

from hypothesis import given
from hypothesis import strategies as st

from volary.cli import log_repeats

LIMITED = log_repeats.kind_of("volary.server", logging.WARNING, "%s has too many connections")
OTHER = log_repeats.kind_of("volary.server", logging.WARNING, "a login failed from %s")


def test_what_comes_again_and_again_is_counted_and_told_once() -> None:
    repeats = log_repeats.Repeats(burst=3, interval=60)
    written = [repeats.is_written(LIMITED, f"203.0.113.{n}", 0.01 * n) for n in range(1207)]

    assert written == [True] * 3 + [False] * 1204
    assert repeats.due(59.9) == []
    assert [str(each) for each in repeats.due(60)] == ["… 1,204 more like it in 60 s: 203.0.113.0"]
    assert repeats.due(61) == []
    assert repeats.is_written(LIMITED, "", 61)


def test_a_flood_hides_nothing_else() -> None:
    repeats = log_repeats.Repeats(burst=1)
    for _ in range(1000):
        repeats.is_written(LIMITED, "", 0)

    assert repeats.is_written(OTHER, "", 0)


def test_long_ones_count_more_and_the_first_is_always_written() -> None:
    repeats = log_repeats.Repeats(burst=4)

    assert [repeats.is_written(LIMITED, "", 0, weight=5) for _ in range(2)] == [True, False]
    assert [repeats.is_written(OTHER, "", 0, weight=2) for _ in range(3)] == [True, True, False]


def test_numbers_in_ready_made_messages_make_no_kinds_of_their_own() -> None:
    first = "Task-17 at 0x7f3a was never retrieved\nfuture: <Task 17>"
    second = "Task-18 at 0x7f3b was never retrieved\nfuture: <Task 18>"
    kinds = {log_repeats.kind_of("asyncio", logging.ERROR, each) for each in (first, second)}

    assert len(kinds) == 1
    assert kinds != {log_repeats.kind_of("asyncio", logging.ERROR, first, "ValueError")}
    assert kinds != {log_repeats.kind_of("asyncio", logging.WARNING, first)}


def test_the_kinds_that_are_remembered_are_bounded_and_nothing_counted_is_lost() -> None:
    repeats = log_repeats.Repeats(burst=1)
    for _ in range(3):
        repeats.is_written(LIMITED, "limited", 0)
    words = [chr(a) + chr(b) for a in range(200, 240) for b in range(200, 240)]
    for word in words:
        assert repeats.is_written(log_repeats.kind_of("x", logging.ERROR, word), word, 0)

    assert [each.hidden for each in repeats.due(0)] == [2]
    assert repeats.rest(0) == []


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 30), st.integers(1, 7)), max_size=200)
)
def test_written_and_told_is_all_there_was(steps: list[tuple[str, float, int]]) -> None:
    """And each interval begins with one that is written."""
    repeats, now, told, written = log_repeats.Repeats(burst=3, interval=60), 0.0, 0, 0
    for name, later, weight in steps:
        now += later
        due = repeats.due(now)
        told += sum(each.hidden for each in due)
        assert all(each.seconds >= 60 for each in due)
        written += repeats.is_written(
            log_repeats.kind_of(name, logging.INFO, name), name, now, weight=weight
        )
    told += sum(each.hidden for each in repeats.rest(now))

    assert written + told == len(steps)
