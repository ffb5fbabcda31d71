"""The fields of ``waves``."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.model import options
from volary.model.placement import rollouts


class Approval(base_sections.Section):
    """People who have to agree."""

    approvers: list[base_sections.Text] = Field(min_length=1, description="Those who may approve.")
    count: Annotated[int, Field(ge=1, strict=True)] = options.option("How many of them have to.", 1)
    timeout: values.Duration = options.option(
        "How long it is waited for them.", timedelta(hours=24)
    )


class Gate(base_sections.Section):
    """What has to hold before the next wave starts, or the run succeeds."""

    approval: Approval | None = options.option("People who have to agree.", None)
    webhook: dict[str, object] | None = options.option(
        "A webhook that has to agree: the options of `K8S_WEBHOOK_GATE`.", None
    )
    analysis: dict[str, object] | None = options.option(
        "What is measured and judged on the wave's clusters: the options of `ANALYSIS`, with the "
        "strategies `THRESHOLD`, `PREVIOUS` and `NOT_UPDATED`: the clusters of later waves, which "
        "do not have the release yet.",
        None,
    )


class Wave(base_sections.Section, of=rollouts.Wave):
    """Clusters that move together."""

    gate: Gate = Field(default_factory=Gate, description="What has to hold afterwards.")


class InWaves(base_sections.Section):
    """The fields of a file that moves in waves."""

    waves: list[Wave] = options.option("Clusters that move together, one wave after another.", [])
    waves_over: Literal["pipeline", "stage"] = options.option(
        "`pipeline`: a wave goes through all stages before the next begins; `stage`: all waves do "
        "one stage before any does the next.",
        "pipeline",
    )
    unmatched_clusters: Literal["refuse", "last"] = options.option(
        "What becomes of targets in no wave: `last` is a wave `rest`.", "refuse"
    )
    budget: rollouts.Budget | None = options.option(
        "For the whole run, besides that of each wave.", None
    )
