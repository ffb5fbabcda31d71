"""Who is told how it ended on a cluster."""

import types
from datetime import timedelta
from typing import cast

import pytest

import release_world
from volary.clusters.client import clients
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, json, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import traffic_stages, waiting_stages
from volary.stages import completion_hooks, webhooks
from volary.stages.runtime import contexts

FAILED, CANCELLED = statuses.TaskStatus.FAILED, statuses.TaskStatus.CANCELLED
SUCCEEDED = statuses.TaskStatus.SUCCEEDED


class Quiet:
    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None: ...

    def progress(self, progress: state.Progress) -> None: ...

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None: ...


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
    return contexts.StageContext(
        application=applications.Application(name="shop", planner=planner),
        stage=pipelines.Stage(
            waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=1))
        ),
        target="us",
        client=cast("clients.Client", client),
        commit="abc",
        target_source=no_manifests,
        report=Quiet(),
        begun=(before,),
        is_last=is_last,
        permissions=contexts.Permissions(reach=webhooks.Reach(loopback=True)),
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
