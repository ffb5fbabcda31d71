"""How a stage ends, whatever went wrong in it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

import stage_contexts
from volary.clusters.api import api_errors
from volary.clusters.apply import apply_errors
from volary.model import errors, statuses
from volary.stages.runtime import execution, outcomes, rendezvouses

WHERE = errors.Location("shop.yaml", 3)


async def end_of(
    body: Callable[[execution.Work], Awaitable[str]], **given: Any
) -> statuses.Outcome:
    return await outcomes.carry_out(stage_contexts.context(**given), body)


async def test_a_stage_that_returns_has_succeeded_with_its_lines() -> None:
    async def body(work: execution.Work) -> str:
        work.note("created ConfigMap")
        work.caution("look at this")
        work.touched = True
        return "done"

    report = stage_contexts.Report()

    ended = await end_of(body, report=report)

    assert ended == statuses.Outcome(
        statuses.TaskStatus.SUCCEEDED, "done", ("created ConfigMap", "look at this"), True
    )
    assert (report.lines, report.warnings) == (["created ConfigMap"], ["look at this"])


@pytest.mark.parametrize(
    ("error", "status", "reason", "details", "refused"),
    [
        (execution.StoppedError("by ana"), "cancelled", "by ana", (), False),
        (execution.StageFailedError("too late"), "failed", "too late", (), False),
        (execution.RefusedError("the gate said no"), "failed", "the gate said no", (), True),
        (
            errors.user_error("no Service", hint="add one", where=WHERE),
            "failed",
            "no Service",
            (f"at {WHERE}", "hint: add one"),
            False,
        ),
        (errors.user_error("no Service"), "failed", "no Service", (), False),
        (
            errors.UserError(
                errors.Problem("no Service", WHERE), errors.Problem("no port", hint="add one")
            ),
            "failed",
            "no Service; and 1 more problem",
            (f"{WHERE}: no Service", "no port", "hint: add one"),
            False,
        ),
        (
            errors.UserError(*(errors.Problem(text) for text in ("a", "b", "c"))),
            "failed",
            "a; and 2 more problems",
            ("a", "b", "c"),
            False,
        ),
        (
            apply_errors.ApplyError([errors.Problem("ConfigMap settings: denied")]),
            "failed",
            "ConfigMap settings: denied",
            (),
            False,
        ),
        (api_errors.Unreachable("no answer"), "unreachable", None, (), False),
        (
            apply_errors.ApplyError(
                [errors.Problem("no answer")], causes=[api_errors.Unreachable("no answer")]
            ),
            "unreachable",
            None,
            (),
            False,
        ),
    ],
)
async def test_what_goes_wrong_is_an_outcome(
    error: errors.VolaryError,
    status: str,
    reason: str | None,
    details: tuple[str, ...],
    refused: bool,
) -> None:
    async def body(work: execution.Work) -> str:
        raise error

    ended = await end_of(body)

    assert (ended.status, ended.details, ended.refused) == (status, details, refused)
    assert ended.reason == (reason or "no answer")
    assert not ended.touched


async def test_a_stage_is_at_its_rendezvous_for_as_long_as_it_lasts() -> None:
    meeting = rendezvouses.Rendezvous()
    seen: list[tuple[str, ...]] = []

    async def body(work: execution.Work) -> str:
        seen.append(meeting.members)
        raise execution.StageFailedError("no")

    await end_of(body, rendezvous=meeting)

    assert (seen, meeting.members) == ([("us",)], ())


@pytest.mark.looptime
async def test_its_time_is_that_of_its_context() -> None:
    async def body(work: execution.Work) -> str:
        before = work.remaining
        await asyncio.sleep(7)
        between = work.remaining
        await asyncio.sleep(70)
        return f"{before.seconds} {between.seconds} {work.remaining.total_seconds()}"

    assert (await end_of(body, timeout=timedelta(seconds=60))).reason == "60 53 0.0"
