"""The entries of ``pipeline.stages`` and the options (``with``) of every stage, as pydantic
models.
"""

import functools
import types
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, cast

from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.stages import metric_sections, progressive_sections, webhooks
from volary.model import options
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)


class StageEntry(base_sections.Section):
    """One step of the pipeline."""

    misplaced: ClassVar[Mapping[str, str]] = {"id": "stages are known by their position"}

    name: base_sections.Text = Field(
        description="Name of the stage; `K8S_MULTI_*` means the same as `K8S_*`."
    )
    desc: str = options.option("Shown beside the stage.", "")
    timeout: values.Duration = options.option(
        "Limit of the stage, on all clusters of its wave together.", timedelta(hours=6)
    )
    with_: dict[str, object] = options.option("Options of the stage.", {}, key="with")
    skip_on: pipelines.SkipOn = options.option(
        "Commits for which the stage is left out.", pipelines.SkipOn()
    )
    analysis: dict[str, object] | None = options.option(
        "Metrics and requests that are measured while the stage is carried out; a failed verdict "
        "stops the stage and fails it. As in `ANALYSIS`, without `duration`.",
        None,
    )


class Pipeline(base_sections.Section):
    """Steps that are taken one after another, each on all targets in parallel."""

    stages: list[StageEntry] = options.option("The stages in order; empty: no pipeline.", [])


class CanaryRollout(base_sections.OnTargets, of=rollout_stages.VariantRolloutOptions):
    """Run the new version beside primary."""

    patches: list[rollout_stages.Patch] = options.option(
        "Changes to the canary's manifests, in order.", []
    )


#: What is written in another form than the model has it in.
_OWN: Mapping[str, type[base_sections.Section]] = {
    rollout_stages.CANARY_ROLLOUT.name: CanaryRollout,
    traffic_stages.TRAFFIC_ROUTING.name: progressive_sections.Traffic,
    traffic_stages.PROGRESSIVE_TRAFFIC.name: progressive_sections.ProgressiveTraffic,
    traffic_stages.BLUE_GREEN.name: progressive_sections.BlueGreen,
    external_stages.WEBHOOK_GATE.name: webhooks.WebhookGate,
    waiting_stages.ANALYSIS.name: metric_sections.Analysis,
}


@functools.cache
def section(kind: stage_kind.StageKind[Any]) -> type[base_sections.Section]:
    """Return what the options of a stage are read as: by their definition, where that will do."""
    if kind.name in _OWN:
        return _OWN[kind.name]
    base = base_sections.OnTargets if kind.has_targets else base_sections.Section
    name = kind.title.title().replace(" ", "")
    return cast(
        "type[base_sections.Section]",
        types.new_class(
            name,
            (base,),
            {"of": kind.options},
            lambda own: own.update({"__module__": __name__, "__doc__": kind.reference}),
        ),
    )
