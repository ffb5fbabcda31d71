"""The fields of ``waves``, and the selector of clusters that all files share."""

import re
from datetime import timedelta
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.model.placement import rollouts

_SHARE = re.compile(r"[0-9]{1,5}%?")


def share(value: object) -> rollouts.Share:
    """Read a number of clusters, ``2``, or a share of them, ``25%``."""
    if isinstance(value, rollouts.Share):
        return value
    text = str(value).strip()
    if isinstance(value, bool | float) or not _SHARE.fullmatch(text):
        raise ValueError("must be a number of clusters such as 2, or a share such as 25%")
    found = rollouts.Share(int(text.removesuffix("%")), text.endswith("%"))
    if found.is_percentage and found.number > 100:
        raise ValueError("must not be above 100%")
    return found


Share = Annotated[
    rollouts.Share,
    pydantic.PlainValidator(share),
    pydantic.WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": "^[0-9]{1,3}%?$"},
            ],
            "title": "Share",
        }
    ),
]


class Requirement(base_sections.Section):
    """One condition on a label or a field of a cluster."""

    key: base_sections.Text = Field(description="The label, or `provider`, `region` or `zone`.")
    operator: rollouts.Operator = Field(description="`In`, `NotIn`, `Exists`, `DoesNotExist`.")
    values: list[str] = Field(default_factory=list, description="For `In` and `NotIn`.")


class ClusterSelector(base_sections.Section):
    """Which clusters; everything given has to hold."""

    names: list[values.ClusterName] = Field(default_factory=list, description="By name.")
    match_labels: dict[str, str] = Field(
        default_factory=dict, description="Clusters that carry all of these labels."
    )
    match_expressions: list[Requirement] = Field(
        default_factory=list, description="Conditions on labels, as Kubernetes has them."
    )
    match_fields: list[Requirement] = Field(
        default_factory=list, description="Conditions on `provider`, `region` and `zone`."
    )
    exclude: list[values.ClusterName] = Field(
        default_factory=list, description="Never these, whatever else holds."
    )


class Targets(ClusterSelector):
    """Which clusters of the fleet the application is for; everything given has to hold."""


class Budget(base_sections.Section):
    """How many clusters may fail without stopping the others; percentages are rounded down."""

    failures: Share = Field(default=0, validate_default=True, description="May fail.")
    unreachable: Share = Field(
        default=0,
        validate_default=True,
        description="May be unreachable besides (see `onUnreachable`).",
    )


class Approval(base_sections.Section):
    """People who have to agree."""

    approvers: list[base_sections.Text] = Field(min_length=1, description="Those who may approve.")
    count: Annotated[int, Field(ge=1, strict=True)] = Field(
        default=1, description="How many of them have to."
    )
    timeout: values.Duration = Field(
        default=timedelta(hours=24), description="How long it is waited for them."
    )


class Gate(base_sections.Section):
    """What has to hold before the next wave starts, or the run succeeds."""

    approval: Approval | None = Field(default=None, description="People who have to agree.")
    webhook: dict[str, object] | None = Field(
        default=None, description="A webhook that has to agree: the options of `K8S_WEBHOOK_GATE`."
    )
    analysis: dict[str, object] | None = Field(
        default=None,
        description="What is measured and judged on the wave's clusters: the options of "
        "`ANALYSIS`, with the strategies `THRESHOLD`, `PREVIOUS` and `NOT_UPDATED`: the clusters "
        "of later waves, which do not have the release yet.",
    )


class Wave(base_sections.Section):
    """Clusters that move together."""

    name: Annotated[values.DnsLabel, Field(min_length=1)] = Field(description="Its name.")
    targets: ClusterSelector | None = Field(
        default=None, description="Which clusters; none given: any that no earlier wave has."
    )
    size: Share | None = Field(
        default=None, description="At most so many, or this share of all targets."
    )
    one_per: str = Field(
        default="",
        description="One cluster for each value of this label, or of `provider`, `region`, `zone`.",
    )
    max_concurrency: Share | None = Field(
        default=None, description="How many are worked on at once; at least one. Default: all."
    )
    order_by: str = Field(
        default="", description="Label whose lower values go first; numbers before texts."
    )
    shuffle: str = Field(
        default="", description="A seed: clusters go in an order that it alone decides."
    )
    soak: values.Duration = Field(
        default=timedelta(),
        description="How long all of them stay healthy on this release before the wave is done.",
    )
    progress_deadline: values.Duration | None = Field(
        default=None, description="How long one stage may take on one cluster."
    )
    budget: Budget = Field(default_factory=Budget, description="Failures that are gone without.")
    on_failure: rollouts.OnWaveFailure = Field(
        default=rollouts.OnWaveFailure.ROLLBACK_ALL,
        description="When more fail: `stop`, `continue`, `rollbackWave` or `rollbackAll`.",
    )
    on_unreachable: rollouts.OnWaveUnreachable = Field(
        default=rollouts.OnWaveUnreachable.FAIL,
        description="`wait` and try again, `skip` within the budget, or `fail`.",
    )
    gate: Gate = Field(default_factory=Gate, description="What has to hold afterwards.")


class InWaves(base_sections.Section):
    """The fields of a file that moves in waves."""

    waves: list[Wave] = Field(
        default_factory=list, description="Clusters that move together, one wave after another."
    )
    waves_over: Literal["pipeline", "stage"] = Field(
        default="pipeline",
        description="`pipeline`: a wave goes through all stages before the next begins; `stage`: "
        "all waves do one stage before any does the next.",
    )
    unmatched_clusters: Literal["refuse", "last"] = Field(
        default="refuse", description="What becomes of targets in no wave: `last` is a wave `rest`."
    )
    budget: Budget | None = Field(
        default=None, description="For the whole run, besides that of each wave."
    )
