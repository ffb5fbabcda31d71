"""The options of stages that move traffic by themselves, as pydantic models.

Names and defaults are Flagger's (``spec.analysis``) where it has them.
"""

import functools
import types
from collections.abc import Mapping
from typing import Any, Literal, cast

from volary.config.decoding import base_sections
from volary.config.stages import metric_sections, webhooks
from volary.model import options
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)


class TextMatch(base_sections.Section):
    """A text to look for: one of the four."""

    exact: str | None = options.option("All of the text.", None)
    prefix: str | None = options.option("Its beginning.", None)
    suffix: str | None = options.option("Its end.", None)
    regex: str | None = options.option("A regular expression, of the router.", None)


class RequestMatch(base_sections.Section):
    """Requests that fulfil all of these."""

    headers: dict[str, TextMatch] = options.option("By header.", {})
    cookies: dict[str, TextMatch] = options.option("By cookie.", {})
    query_params: dict[str, TextMatch] = options.option("By parameter of the query.", {})


class ProgressiveTraffic(base_sections.OnTargets, of=traffic_stages.ProgressiveTrafficOptions):
    """Move traffic to canary step by step, as long as every check passes."""

    metrics: list[metric_sections.Metric]
    match: list[RequestMatch]
    immediate: bool
    progress_deadline_seconds: int = options.option(
        "How long canary may stay not ready.", 600, least=1
    )


class Checks(base_sections.Section, of=traffic_stages.Checks):
    """An analysis inside another stage."""

    metrics: list[metric_sections.Metric]


class BlueGreen(base_sections.OnTargets, of=traffic_stages.BlueGreenOptions):
    """Switch all traffic to canary at once, with a preview before and an instant rollback after."""

    pre_promotion: Checks | None
    post_promotion: Checks | None


class Traffic(base_sections.OnTargets, of=traffic_stages.TrafficOptions):
    """Divide traffic between variants; the percentages add up to 100."""

    all: Literal["", "primary", "canary", "baseline"] = options.option(
        "Send everything to this variant, instead of percentages.", ""
    )
    primary: options.Percentage | None = options.option(
        "Percentage for primary. PipeCD's dialect: the rest when left out.", None
    )
    canary: options.Percentage
    match: list[RequestMatch]


class CanaryRollout(base_sections.OnTargets, of=rollout_stages.VariantRolloutOptions):
    """Run the new version beside primary."""

    patches: list[rollout_stages.Patch] = options.option(
        "Changes to the canary's manifests, in order.", []
    )


#: What is written in another form than the model has it in.
_OWN: Mapping[str, type[base_sections.Section]] = {
    rollout_stages.CANARY_ROLLOUT.name: CanaryRollout,
    traffic_stages.TRAFFIC_ROUTING.name: Traffic,
    traffic_stages.PROGRESSIVE_TRAFFIC.name: ProgressiveTraffic,
    traffic_stages.BLUE_GREEN.name: BlueGreen,
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
