"""A release in progressive steps on sandbox clusters, behind a VirtualService."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import release_world
import stage_world
from release_world import ISTIO, meshed
from volary.model.pipeline import pipelines, webhook

Name = pipelines.StageName
Options = pipelines.ProgressiveTrafficOptions
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
    replicas = pipelines.VariantRolloutOptions(replicas=pipelines.Replicas(canaries))
    return [
        release_world.step(Name.CANARY_ROLLOUT, replicas),
        release_world.step(Name.PROGRESSIVE_TRAFFIC, options, timeout=timedelta(seconds=limit)),
        release_world.step(
            Name.PRIMARY_ROLLOUT,
            pipelines.PrimaryRolloutOptions(add_variant_label_to_selector=True),
        ),
        release_world.step(Name.CANARY_CLEAN, pipelines.CleanOptions()),
    ]
