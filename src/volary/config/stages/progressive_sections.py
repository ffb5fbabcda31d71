"""The options of stages that move traffic by themselves, as pydantic models.

Names and defaults are Flagger's (``spec.analysis``) where it has them.
"""

from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.stages import metric_sections
from volary.model import options
from volary.model.pipeline.stage_kinds import traffic_stages


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
    progress_deadline_seconds: int = Field(
        default=600, ge=1, strict=True, description="How long canary may stay not ready."
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
    primary: values.Percentage | None = options.option(
        "Percentage for primary. PipeCD's dialect: the rest when left out.", None
    )
    canary: values.Percentage
    match: list[RequestMatch]
