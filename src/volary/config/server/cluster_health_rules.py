"""The fields of ``clusterHealth`` in the controller's settings, and how they are read."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.placement import wave_rules, wave_sections
from volary.config.text import yaml
from volary.model.fleet import cluster_health, taints

PATH: yaml.Path = ("clusterHealth",)
_SHORTEST = timedelta(seconds=1)
_STATES = {
    "notReady": cluster_health.ClusterState.NOT_READY,
    "unreachable": cluster_health.ClusterState.UNREACHABLE,
}


class TaintRule(base_sections.Section):
    """A taint for clusters that stay in a state; it goes when the state goes."""

    states: list[Literal["notReady", "unreachable"]] = Field(
        min_length=1, description="The states, any of them."
    )
    after: values.Duration = Field(
        default=timedelta(), description="How long the state has to last."
    )
    key: Annotated[values.LabelKey, Field(min_length=1)] = Field(
        description="Key of the taint, such as `volary.dev/unreachable`."
    )
    value: values.LabelValue = Field(default="", description="Its value.")
    effect: taints.Effect = Field(description="`NoSchedule` or `NoExecute`.")
    targets: wave_sections.ClusterSelector = Field(
        default_factory=wave_sections.ClusterSelector,
        description="Which clusters; nothing given: every one.",
    )


class ClusterHealth(base_sections.Section):
    """How clusters are watched."""

    interval: values.Duration = Field(
        default=timedelta(seconds=10), description="Between two looks at a cluster."
    )
    timeout: values.Duration = Field(
        default=timedelta(seconds=5), description="How long a cluster may take to answer a look."
    )
    failure_threshold: values.Duration = Field(
        default=timedelta(seconds=30),
        description="How long it has to fail without a break until it counts as failing.",
    )
    success_threshold: values.Duration = Field(
        default=timedelta(seconds=30),
        description="How long it has to answer without a break until it counts as ready again.",
    )
    taints: list[TaintRule] = Field(
        default_factory=list,
        description="Taints for clusters that stay not ready or unreachable, besides "
        "`volary.dev/not-ready:NoSchedule` and `volary.dev/unreachable:NoSchedule`, which are "
        "always made. Without a rule with `NoExecute` nothing is moved because of a cluster's "
        "state.",
    )


def convert(reading: readings.Reading, read: ClusterHealth) -> cluster_health.HealthRules:
    """Return the rules; problems are noted."""
    for key, value in (("interval", read.interval), ("timeout", read.timeout)):
        if value < _SHORTEST:
            reading.error((*PATH, key), "must be at least one second", "write 10s")
    rules = tuple(
        cluster_health.TaintRule(
            tuple(_STATES[state] for state in each.states),
            each.key,
            each.effect,
            each.value,
            each.after,
            wave_rules.selector(reading, each.targets, (*PATH, "taints", place, "targets")),
        )
        for place, each in enumerate(read.taints)
    )
    return cluster_health.HealthRules(
        read.interval, read.timeout, read.failure_threshold, read.success_threshold, rules
    )
