"""``waves``: clusters that move one group after another, with what has to hold in between."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from volary.config import section, shape, values, yaml
from volary.model import placement, selection, stage

PATH: yaml.Path = ("spec", "waves")
_SHARE = re.compile(r"[0-9]{1,5}%?")


def share(value: object) -> placement.Share:
    """Read a number of clusters, ``2``, or a share of them, ``25%``."""
    if isinstance(value, placement.Share):
        return value
    text = str(value).strip()
    if isinstance(value, bool | float) or not _SHARE.fullmatch(text):
        raise ValueError("must be a number of clusters such as 2, or a share such as 25%")
    found = placement.Share(int(text.removesuffix("%")), text.endswith("%"))
    if found.is_percentage and found.number > 100:
        raise ValueError("must not be above 100%")
    return found


Share = Annotated[
    placement.Share,
    pydantic.BeforeValidator(share),
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


class Requirement(section.Section):
    """One condition on a label or a field of a cluster."""

    key: section.Text = Field(description="The label, or `provider`, `region` or `zone`.")
    operator: placement.Operator = Field(description="`In`, `NotIn`, `Exists`, `DoesNotExist`.")
    values: list[str] = Field(default_factory=list, description="For `In` and `NotIn`.")


class ClusterSelector(section.Section):
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


class Budget(section.Section):
    """How many clusters may fail without stopping the others; percentages are rounded down."""

    failures: Share = Field(default=placement.NONE, description="May fail.")
    unreachable: Share = Field(
        default=placement.NONE, description="May be unreachable besides (see `onUnreachable`)."
    )


class Approval(section.Section):
    """People who have to agree."""

    approvers: list[section.Text] = Field(min_length=1, description="Those who may approve.")
    count: Annotated[int, Field(ge=1, strict=True)] = Field(
        default=1, description="How many of them have to."
    )
    timeout: values.Duration = Field(
        default=timedelta(hours=24), description="How long it is waited for them."
    )


class Gate(section.Section):
    """What has to hold before the next wave starts, or the run succeeds."""

    approval: Approval | None = Field(default=None, description="People who have to agree.")


class Wave(section.Section):
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
    on_failure: placement.OnWaveFailure = Field(
        default=placement.OnWaveFailure.ROLLBACK_ALL,
        description="When more fail: `stop`, `continue`, `rollbackWave` or `rollbackAll`.",
    )
    on_unreachable: placement.OnWaveUnreachable = Field(
        default=placement.OnWaveUnreachable.FAIL,
        description="`wait` and try again, `skip` within the budget, or `fail`.",
    )
    gate: Gate = Field(default_factory=Gate, description="What has to hold afterwards.")


class InWaves(section.Section):
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


def convert(reading: shape.Reading, read: InWaves) -> placement.Waves:
    """Return how the application moves; problems are noted."""
    if not read.waves:
        _without_waves(reading)
    waves = tuple(_wave(reading, each, (*PATH, place)) for place, each in enumerate(read.waves))
    _check_names(reading, read.waves)
    return placement.Waves(
        waves,
        placement.WavesOver(read.waves_over),
        placement.Unmatched(read.unmatched_clusters),
        None if read.budget is None else _budget(read.budget),
    )


def _without_waves(reading: shape.Reading) -> None:
    for key in ("wavesOver", "unmatchedClusters", "budget"):
        if reading.written(("spec", key)) is not None:
            reading.error(("spec", key), f"{key} has no effect without waves", "add waves")


def _wave(reading: shape.Reading, read: Wave, path: yaml.Path) -> placement.Wave:
    if read.shuffle and read.order_by:
        reading.error((*path, "shuffle"), "shuffle and orderBy are both given", "keep one of them")
    for key in ("size", "maxConcurrency"):
        given: placement.Share | None = read.size if key == "size" else read.max_concurrency
        if given is not None and not given.number:
            reading.error((*path, key), "must be more than 0")
    if read.progress_deadline is not None and not read.progress_deadline:
        reading.error((*path, "progressDeadline"), "must be more than 0")
    return placement.Wave(
        name=read.name,
        selector=None
        if read.targets is None
        else selector(reading, read.targets, (*path, "targets")),
        size=read.size,
        one_per=read.one_per,
        max_concurrency=read.max_concurrency,
        order_by=read.order_by,
        shuffle=read.shuffle,
        soak=read.soak,
        progress_deadline=read.progress_deadline,
        budget=_budget(read.budget),
        on_failure=read.on_failure,
        on_unreachable=read.on_unreachable,
        gate=_gate(reading, read.gate, (*path, "gate")),
    )


def selector(
    reading: shape.Reading, read: ClusterSelector, path: yaml.Path
) -> placement.ClusterSelector:
    """Return which clusters are chosen; conditions that can never hold are noted."""
    for place, each in enumerate(read.match_fields):
        if each.key not in selection.FIELDS:
            at = (*path, "matchFields", place, "key")
            hint = shape.did_you_mean(each.key, selection.FIELDS)
            reading.error(at, f"a cluster has no field {each.key}", hint)
    lists = (("matchExpressions", read.match_expressions), ("matchFields", read.match_fields))
    for name, requirements in lists:
        for place, each in enumerate(requirements):
            _check_values(reading, each, (*path, name, place))
    return placement.ClusterSelector(
        tuple(read.names),
        read.match_labels,
        tuple(_requirement(each) for each in read.match_expressions),
        tuple(_requirement(each) for each in read.match_fields),
        tuple(read.exclude),
    )


def _check_values(reading: shape.Reading, read: Requirement, path: yaml.Path) -> None:
    needs = read.operator in (placement.Operator.IN, placement.Operator.NOT_IN)
    if needs and not read.values:
        reading.error((*path, "values"), f"{read.operator.value} needs values")
    if read.values and not needs:
        reading.error((*path, "values"), f"{read.operator.value} takes no values")


def _requirement(read: Requirement) -> placement.Requirement:
    return placement.Requirement(read.key, read.operator, tuple(read.values))


def _budget(read: Budget) -> placement.Budget:
    return placement.Budget(read.failures, read.unreachable)


def _gate(reading: shape.Reading, read: Gate, path: yaml.Path) -> placement.Gate:
    if read.approval is None:
        return placement.Gate()
    names = tuple(dict.fromkeys(read.approval.approvers))
    if read.approval.count > len(names):
        message = f"{read.approval.count} people have to approve, but {len(names)} may"
        reading.error((*path, "approval", "count"), message, "name more approvers")
    options = stage.ApprovalOptions(names, read.approval.count)
    return placement.Gate(options, read.approval.timeout)


def _check_names(reading: shape.Reading, waves: Sequence[Wave]) -> None:
    seen: set[str] = set()
    for place, each in enumerate(waves):
        if each.name in seen or (each.name == "rest" and place < len(waves) - 1):
            what = "is listed twice" if each.name in seen else "is the name of the last wave"
            reading.error((*PATH, place, "name"), f"the wave {each.name} {what}")
        seen.add(each.name)
        takes_all = each.targets is None and each.size is None and not each.one_per
        if takes_all and place < len(waves) - 1:
            message = f"{each.name} takes every cluster, none is left for the waves below it"
            reading.error((*PATH, place), message, "add targets, a size or onePer")
