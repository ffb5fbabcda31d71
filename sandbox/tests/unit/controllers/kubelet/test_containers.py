"""The state machine of a container."""

import itertools
from datetime import UTC, datetime

import pytest

from kube_sandbox.apimachinery.meta import times
from kube_sandbox.controllers.kubelet import behaviours, containers

Stage = containers.Stage
TIMING = containers.Timing()


def _at(seconds: float) -> times.Instant:
    return times.Instant(datetime.fromtimestamp(1_700_000_000 + seconds, UTC), seconds)


def _live(nature: containers.Nature, steps: int) -> list[tuple[Stage, float]]:
    """Follow a container through its stages, each taken when due."""
    run = containers.created(_at(0))
    seen = [(run.stage, 0.0)]
    for _ in range(steps):
        due = containers.due(run, nature, TIMING)
        if due is None:
            break
        run = containers.moved(run, nature, TIMING, _at(due))
        seen.append((run.stage, due))
    return seen


def _nature(ends: bool = False, policy: str = "Always", **changes: object) -> containers.Nature:
    return containers.Nature(behaviours.Behaviour(**changes), ends, policy, 1.0)  # type: ignore[arg-type]


def test_a_good_container_runs_for_ever() -> None:
    assert _live(_nature(), 5) == [(Stage.CREATING, 0.0), (Stage.RUNNING, TIMING.pull)]


def test_a_container_that_ends_is_finished() -> None:
    stages = [stage for stage, _ in _live(_nature(ends=True, policy="Never"), 5)]

    assert stages == [Stage.CREATING, Stage.RUNNING, Stage.FINISHED]


def test_a_bad_image_is_tried_again_ever_more_seldom() -> None:
    seen = _live(_nature(pull_fails=True), 8)

    assert [stage for stage, _ in seen][1:5] == [
        Stage.PULL_ERROR,
        Stage.PULL_BACKOFF,
        Stage.PULL_ERROR,
        Stage.PULL_BACKOFF,
    ]
    waits = [
        round(later - when)
        for (stage, when), (_, later) in itertools.pairwise(seen)
        if stage is Stage.PULL_BACKOFF
    ]
    assert waits == [10, 20, 40]


def test_the_first_crash_is_followed_by_a_restart_at_once() -> None:
    stages = [stage for stage, _ in _live(_nature(crash_after=1.0), 7)]

    assert stages == [
        Stage.CREATING,
        Stage.RUNNING,
        Stage.EXITED,
        Stage.RUNNING,
        Stage.EXITED,
        Stage.BACKOFF,
        Stage.RUNNING,
        Stage.EXITED,
    ]


def test_a_long_run_makes_the_node_forget_the_crashes_before() -> None:
    limit = TIMING.backoff_limit
    short, long = (_live(_nature(crash_after=2 * limit + rest), 20) for rest in (-1.0, 1.0))

    assert Stage.BACKOFF in [stage for stage, _ in short]
    assert Stage.BACKOFF not in [stage for stage, _ in long]


def test_a_crashing_container_backs_off_at_most_five_minutes() -> None:
    seen = _live(_nature(crash_after=1.0), 40)

    waits = [
        round(later - when)
        for (stage, when), (_, later) in itertools.pairwise(seen)
        if stage is Stage.BACKOFF
    ]
    assert waits[:3] == [10, 20, 40]
    assert max(waits) == 300
    assert waits == sorted(waits)


@pytest.mark.parametrize(
    ("policy", "expected"), [("Never", Stage.FINISHED), ("OnFailure", Stage.EXITED)]
)
def test_a_failure_is_repeated_as_the_policy_says(policy: str, expected: Stage) -> None:
    seen = _live(_nature(ends=True, policy=policy, crash_after=0.5), 2)

    assert seen[-1][0] is expected


def test_one_that_takes_too_much_memory_is_killed_for_it() -> None:
    nature = _nature(crash_after=1.0, out_of_memory=True)
    started = containers.moved(containers.created(_at(0)), nature, TIMING, _at(1))
    ended = containers.moved(started, nature, TIMING, _at(2))

    assert ended.terminated is not None
    assert (ended.terminated["exitCode"], ended.terminated["reason"]) == (137, "OOMKilled")


def test_ready_after_the_delay_or_never() -> None:
    run = containers.moved(containers.created(_at(0)), _nature(), TIMING, _at(1))

    assert containers.ready_at(run, _nature(), 2.0) == 3.0
    assert containers.ready_at(run, _nature(ready_delay=0.5), 2.0) == 1.5
    assert containers.ready_at(run, _nature(never_ready=True), 2.0) is None
