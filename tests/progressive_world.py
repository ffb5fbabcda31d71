"""A release in progressive steps on sandbox clusters, behind a VirtualService."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import release_world
import stage_world
from release_world import ISTIO, meshed
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

Options = traffic_stages.ProgressiveTrafficOptions
Hook = webhook.WebhookType
FAST = timedelta(seconds=0.15)


@contextlib.asynccontextmanager
async def given(*names: str) -> AsyncIterator[release_world.Releases]:
    """The old version runs everywhere behind a VirtualService."""
    async with stage_world.world(*names, application=ISTIO, istio=True) as world:
        world.sources = {
            stage_world.OLD: meshed("shop:v1"),
            stage_world.NEW: meshed("shop:v2"),
        }
        await world.deployed()
        yield release_world.Releases(world)


def pipeline(options: Options, *, limit: float = 40, canaries: int = 1) -> list[pipelines.Stage]:
    replicas = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(canaries))
    return [
        release_world.step(rollout_stages.CANARY_ROLLOUT.name, replicas),
        release_world.step(
            traffic_stages.PROGRESSIVE_TRAFFIC.name, options, timeout=timedelta(seconds=limit)
        ),
        release_world.step(
            rollout_stages.PRIMARY_ROLLOUT.name,
            rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True),
        ),
        release_world.step(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    ]
