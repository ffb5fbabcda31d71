"""What a task left undone although it succeeded: the run has not simply succeeded."""

from datetime import UTC, datetime

from machine_scripts import Converse, Make, check
from volary.engine.observers import explanations, feed, observer_events
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.model import statuses

AT = datetime(2026, 1, 1, tzinfo=UTC)
REFUSAL = "nothing is pruned: 20 of 23 objects"


def test_what_is_left_undone_is_named_with_its_clusters(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(("us", "eu", "asia")),
        """
        >> us succeeded
        >> eu succeeded
        >> asia succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        << start 2-K8S_PRIMARY_ROLLOUT on asia
        >> us succeeded undone: 20 objects are left
        >> eu succeeded
        >> asia succeeded undone: 20 objects are left
        << release
        == succeeded_with_exceptions: every stage is done on us, eu and asia, but us and asia: 20 objects are left
        """,  # noqa: E501
    )


def test_a_cluster_that_is_left_out_is_named_for_that_alone(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(),
        """
        >> us succeeded
        >> eu succeeded undone: 20 objects are left
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        >> skip eu
        << stop eu gracefully: skipped by ana: on fire
        >> eu cancelled: stopped
        >> us succeeded undone: 30 objects are left
        << release
        == succeeded_with_exceptions: every stage is done on us, but the run went on without eu (skipped by ana: on fire); us: 30 objects are left
        """,  # noqa: E501
    )


def test_one_that_did_it_at_another_try_or_fails_left_nothing(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us",)),
        """
        >> us failed undone: 20 objects are left
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: us: 20 objects are left; rolling back us
        >> us succeeded undone: 20 objects are left
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: us: 20 objects are left; rollback verified on us
        """,
    )


def test_the_last_event_names_it_and_the_run_is_everywhere(begun: Make) -> None:
    run = begun(("us", "eu"), stages=(begun().stages[0].stage,))
    run = _done(run, "us", REFUSAL)
    before = run
    run = _done(run, "eu", "")

    (*_, last) = observer_events.between(before, run, AT)

    assert isinstance(last, feed.RunFinished)
    assert (last.status, last.exceptions) == (
        statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS,
        {"us": REFUSAL},
    )
    assert run.is_everywhere
    assert not any("sync" in command for command in explanations.next_commands(run))


def _done(run: state.Run, target: str, exception: str) -> state.Run:
    outcome = statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", (), True, exception=exception)
    task = run.current.task(target)
    assert task is not None
    event = events.TaskFinished(AT, run.current.id, target, task.attempt, outcome)
    return machine.advance(run, event).run
