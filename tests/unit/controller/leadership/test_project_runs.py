"""Runs of a project wait for each other in the order in which they came."""

import contextlib

from hypothesis import given
from hypothesis import strategies as some

from volary.controller.leadership import project_runs


def nothing() -> None:
    """Nobody waits for a change."""


def test_no_more_go_than_may_and_the_first_goes_first() -> None:
    runs, turns = project_runs.ProjectRuns(), list[str]()
    one, two, three = (
        runs.place("team-a", lambda name=name: turns.append(name)) for name in ("1", "2", "3")
    )
    first = one.__enter__()
    assert first.why_wait(1) == ""
    second, third = two.__enter__(), three.__enter__()

    assert third.why_wait(1) == (
        "project team-a may have 1 run under way at once; 1 application came before"
    )
    assert second.why_wait(1) == "project team-a may have 1 run under way at once"
    one.__exit__(None, None, None)
    assert turns == ["2", "3"]
    assert third.why_wait(1) != ""
    assert second.why_wait(1) == ""
    two.__exit__(None, None, None)
    assert third.why_wait(1) == ""
    three.__exit__(None, None, None)


def test_who_leaves_the_queue_holds_up_nobody() -> None:
    runs = project_runs.ProjectRuns()
    with runs.place("team-a", nothing) as under_way:
        under_way.go()
        with runs.place("team-a", nothing), runs.place("team-a", nothing) as last:
            assert last.why_wait(2) != ""
        with runs.place("team-a", nothing) as next_one:
            assert next_one.why_wait(2) == ""


def test_what_does_not_wait_counts_all_the_same() -> None:
    runs = project_runs.ProjectRuns()
    with runs.place("team-a", nothing) as one, runs.place("team-a", nothing) as two:
        one.go()
        two.go()
        with runs.place("team-a", nothing) as other:
            assert other.why_wait(2) != ""
            assert other.why_wait(3) == ""


def test_projects_do_not_wait_for_each_other_and_no_limit_is_none() -> None:
    runs = project_runs.ProjectRuns()
    with runs.place("team-a", nothing) as one, runs.place("team-b", nothing) as other:
        assert one.why_wait(1) == other.why_wait(1) == ""
        with runs.place("team-a", nothing) as more:
            assert more.why_wait(0) == ""


@given(some.lists(some.integers(0, 5), max_size=60), some.integers(1, 3))
def test_nobody_starves_and_no_more_go_than_may(steps: list[int], most: int) -> None:
    """Applications come, and leave once they have gone; each goes before those that came later."""
    runs = project_runs.ProjectRuns()
    inside: dict[int, tuple[contextlib.ExitStack, project_runs.Place]] = {}
    came: list[int] = []
    going: list[int] = []
    for number in steps:
        if number in going:
            inside.pop(number)[0].close()
            going.remove(number)
        elif number not in inside:
            stack = contextlib.ExitStack()
            inside[number] = stack, stack.enter_context(runs.place("team-a", nothing))
            came.append(number)
        waited = list(came)
        for name in reversed(waited):  # who came last is the first to ask
            if not inside[name][1].why_wait(most):
                came.remove(name)
                going.append(name)

        assert came == waited[len(waited) - len(came) :]
        assert len(going) <= most
        assert len(going) == min(most, len(going) + len(came))
    for stack, _ in inside.values():
        stack.close()
