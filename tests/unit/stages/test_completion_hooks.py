"""Who is told how it ended on a cluster."""

import contextlib
import types
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

import release_world
import stage_contexts
from volary.clusters.client import clients
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, json, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import (
    added_stages,
    external_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.stages import completion_hooks, registry, webhooks
from volary.stages.runtime import contexts

FAILED, CANCELLED = statuses.TaskStatus.FAILED, statuses.TaskStatus.CANCELLED
SUCCEEDED, UNREACHABLE = statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.UNREACHABLE


class Quiet:
    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None: ...

    def progress(self, progress: state.Progress) -> None: ...

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None: ...

    def took_over(self, title: str, claimant: str) -> None: ...


async def no_manifests() -> list[manifest.Manifest]:
    return []


def after(url: str, planner: applications.Planner, *, is_last: bool) -> contexts.StageContext:
    """A stage after one that has a webhook for the end."""
    hook = webhook.Webhook(url=url, name="told", type=webhook.WebhookType.POST_ROLLOUT)
    before = pipelines.Stage(
        traffic_stages.PROGRESSIVE_TRAFFIC.name,
        traffic_stages.ProgressiveTrafficOptions(webhooks=(hook,)),
    )
    client = types.SimpleNamespace(namespace="default")
    return stage_contexts.context(
        application=applications.Application(name="shop", planner=planner),
        stage=pipelines.Stage(
            waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=1))
        ),
        target="us",
        client=cast("clients.Client", client),
        commit="abc",
        target_source=no_manifests,
        report=Quiet(),
        clock=stage_contexts.LoopClock(),
        begun=(before,),
        is_last=is_last,
        options=contexts.Options(
            permissions=contexts.Permissions(reach=webhooks.Reach(loopback=True))
        ),
    )


@pytest.mark.parametrize(
    ("ended", "planner", "is_last", "told"),
    [
        (FAILED, applications.Planner(auto_rollback=False), False, ["Failed"]),
        (CANCELLED, applications.Planner(auto_rollback=False), False, ["Failed"]),
        (FAILED, applications.Planner(auto_rollback=False), True, ["Failed"]),
        # The rollback tells.
        (FAILED, applications.Planner(), False, []),
        # A person decides whether this is the end.
        (FAILED, applications.Planner(auto_rollback=False, hold_on_failure=True), False, []),
        (SUCCEEDED, applications.Planner(auto_rollback=False), False, []),
        (SUCCEEDED, applications.Planner(auto_rollback=False), True, ["Succeeded"]),
    ],
)
async def test_the_end_is_told_once(
    ended: statuses.TaskStatus, planner: applications.Planner, is_last: bool, told: list[str]
) -> None:
    async with release_world.gate() as gate:
        context = after(f"{gate.url}/after", planner, is_last=is_last)
        found = statuses.Outcome(ended, "as it was")
        assert await completion_hooks.complete(context, found) == found
        assert [each["phase"] for each in gate.asked] == told


def rollback_after(*scripts: str, allowed: bool = True) -> contexts.StageContext:
    """A rollback after stages whose scripts are undone."""
    begun = tuple(
        pipelines.Stage(
            external_stages.SCRIPT_RUN.name,
            external_stages.ScriptOptions(
                run="true", on_rollback=script, scope=stage_kind.Scope.CLUSTER
            ),
        )
        for script in scripts
    )

    @contextlib.asynccontextmanager
    async def checkout(_commit: str) -> AsyncIterator[contexts.Workspace]:
        yield contexts.Workspace(Path("/tmp"), Path("/tmp"))

    context = after("http://169.254.169.254/", applications.Planner(), is_last=False)
    rollback = pipelines.Stage(added_stages.ROLLBACK.name, stage_kind.NoOptions())
    return replace(
        context,
        task=replace(context.task, stage=rollback),
        begun=begun,
        run=contexts.RunEnvironment(checkout=checkout),
        options=contexts.Options(permissions=contexts.Permissions(scripts=allowed)),
    )


@pytest.mark.parametrize(
    ("scripts", "ended", "status", "reason", "touched"),
    [
        ((), SUCCEEDED, SUCCEEDED, "rolled back", False),
        (("",), SUCCEEDED, SUCCEEDED, "rolled back", False),
        (("true", ""), SUCCEEDED, SUCCEEDED, "rolled back", True),
        (("true",), FAILED, FAILED, "rolled back", True),
        # It is not back yet: whoever goes on with it does that once it is.
        (("true",), UNREACHABLE, UNREACHABLE, "rolled back", False),
        (("exit 3",), FAILED, FAILED, "rolled back", True),
        (
            ("exit 3",),
            SUCCEEDED,
            FAILED,
            "rolled back; but onRollback of stage 1: the script ended with status 3",
            True,
        ),
    ],
)
async def test_scripts_are_undone_with_a_rollback(
    scripts: tuple[str, ...],
    ended: statuses.TaskStatus,
    status: statuses.TaskStatus,
    reason: str,
    touched: bool,
) -> None:
    outcome = statuses.Outcome(ended, "rolled back", ("before",))

    found = await completion_hooks.complete(rollback_after(*scripts), outcome)

    assert (found.status, found.reason, found.touched) == (status, reason, touched)
    assert found.details[0] == "before"
    assert len(found.details) == (2 if touched else 1)


async def test_only_a_rollback_undoes_scripts() -> None:
    context = rollback_after("exit 3")
    wait = after("x", applications.Planner(), is_last=False).task.stage
    other = replace(context, task=replace(context.task, stage=wait))
    outcome = statuses.Outcome(SUCCEEDED, "done")

    assert await completion_hooks.complete(other, outcome) == outcome


async def test_of_a_rollback_that_was_carried_out_elsewhere_only_the_scripts_are_left() -> None:
    context = rollback_after("exit 3")
    back = statuses.Outcome(SUCCEEDED, "rolled back", touched=True)

    found = await registry.run(replace(context, task=replace(context.task, rolled_back=back)))

    assert found.status is FAILED
    assert found.reason == "rolled back; but onRollback of stage 1: the script ended with status 3"


async def test_a_rollback_that_is_stopped_before_its_scripts_says_so() -> None:
    context = rollback_after("true")
    context.task.stop.raise_flag("by ana")

    found = await completion_hooks.complete(context, statuses.Outcome(SUCCEEDED, "rolled back"))

    assert (found.status, found.reason, found.touched) == (CANCELLED, "by ana", True)
