"""``placement.spread`` and ``placement.failover``: on how many clusters an application is, and
when it moves.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.fleet import cluster_properties
from volary.config.stages import webhooks
from volary.config.text import yaml
from volary.model import applications
from volary.model.placement import failover_rules as placement_failover_rules
from volary.model.placement import spread_constraints as placement_spread_constraints

_GroupCount = Annotated[int, Field(ge=0, strict=True)]


class SpreadConstraint(base_sections.Section):
    """How many clusters, or groups of clusters, the application is on."""

    by: placement_spread_constraints.Field | None = Field(
        default=None, description="`cluster`, `region`, `zone` or `provider`."
    )
    by_label: str = Field(default="", description="Instead of `by`: a label of the clusters.")
    min_groups: _GroupCount = Field(default=1, description="Fewer are an error.")
    max_groups: _GroupCount = Field(default=0, description="No more than these; 0: any number.")


class Behaviour(base_sections.Section):
    """What is done once there is a reason to move."""

    toleration: values.Duration = Field(
        default=timedelta(minutes=5),
        validate_default=True,
        description="How long the reason has to last. For a cluster: how long marks with "
        "`NoExecute` are tolerated that none of `placement.tolerations` is about.",
    )
    purge: placement_failover_rules.Purge = Field(
        default=placement_failover_rules.Purge.GRACEFULLY,
        description="What becomes of the old copy. `Gracefully`: it goes when the replacement is "
        "healthy; `Directly`: it goes first; `Never`: it stays until a rebalance.",
    )
    grace_period: values.Duration = Field(
        default=timedelta(minutes=10),
        validate_default=True,
        description="How long `Gracefully` waits for a healthy replacement.",
    )


class Witness(base_sections.Section):
    """An address that tells whether users of a cluster are still served, asked with GET."""

    url: base_sections.Text = Field(
        description="A status below 400 says that users are served, a higher one that they are "
        "not; no answer says nothing. So name something outside of the cluster: a load balancer, "
        "a monitor. May hold `${cluster.name}`, `${cluster.region}`, `${cluster.labels.KEY}`."
    )
    timeout: values.Duration = Field(
        default=timedelta(seconds=5),
        validate_default=True,
        description="Longest wait; at most 30s.",
    )


class Failover(base_sections.Section):
    """When the application is moved away from a cluster; without it: never by itself."""

    cluster: Behaviour | None = Field(
        default=None, description="When a cluster carries a mark with `NoExecute`."
    )
    application: Behaviour | None = Field(
        default=None,
        description="When the application is ill without a break on a cluster that answers.",
    )
    witness: Witness | None = Field(
        default=None,
        description="The second evidence for a cluster that does not answer: without it such a "
        "cluster is left only when a person marks it.",
    )
    patience: values.Duration = Field(
        default=timedelta(minutes=5),
        validate_default=True,
        description="How long a run under way is waited for before it is interrupted; a paused "
        "one is never interrupted.",
    )


SPREAD: yaml.Path = ("spec", "placement", "spread")
_FAILOVER: yaml.Path = ("spec", "placement", "failover")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LONGEST_WITNESS = timedelta(seconds=30)


def with_policies(
    found: applications.Application, added: applications.Application
) -> applications.Application:
    """Return an application with what policies beside its file say; its own word counts."""
    return replace(
        found,
        tolerations=(*found.tolerations, *added.tolerations),
        spread=found.spread or added.spread,
        failover=found.failover or added.failover,
    )


def spread_constraints(
    reading: readings.Reading, read: Sequence[SpreadConstraint]
) -> tuple[placement_spread_constraints.Constraint, ...]:
    """Return over what the application is spread; problems are noted."""
    found = tuple(_constraints(reading, read))
    _check_counts(reading, found)
    return found


def _constraints(
    reading: readings.Reading, read: Sequence[SpreadConstraint]
) -> Iterator[placement_spread_constraints.Constraint]:
    for place, each in enumerate(read):
        path = (*SPREAD, place)
        if each.by is not None and each.by_label:
            reading.error(path, "by and byLabel are both given", "keep one of them")
        if each.max_groups and each.max_groups < each.min_groups:
            reading.error((*path, "maxGroups"), "maxGroups is less than minGroups")
        field = each.by or placement_spread_constraints.Field.CLUSTER
        yield placement_spread_constraints.Constraint(
            field, each.by_label, max(each.min_groups, 1), each.max_groups
        )


def _check_counts(
    reading: readings.Reading, found: Sequence[placement_spread_constraints.Constraint]
) -> None:
    by_cluster = [place for place, each in enumerate(found) if each.is_of_clusters]
    by_group = [place for place, each in enumerate(found) if not each.is_of_clusters]
    for place in (*by_cluster[1:], *by_group[1:]):
        first = found[(by_cluster if place in by_cluster else by_group)[0]]
        reading.error(
            (*SPREAD, place),
            f"it is spread by {first.key} already",
            "one constraint by cluster and one by region, zone, provider or a label",
        )
    if by_cluster and by_group:
        limit, groups = found[by_cluster[0]], found[by_group[0]]
        if limit.most and limit.most < groups.least:
            reading.error(
                (*SPREAD, by_cluster[0], "maxGroups"),
                f"{groups.least} by {groups.key} are more than {limit.most} clusters",
            )


def failover_rules(
    reading: readings.Reading, read: Failover | None
) -> placement_failover_rules.Failover | None:
    """Return when the application is moved; problems are noted."""
    if read is None:
        return None
    if read.cluster is None and read.application is None:
        reading.error(_FAILOVER, "it never moves", "add cluster, application or both")
    if read.witness is not None:
        _check_external_probe(reading, read)
    if read.patience < timedelta():
        reading.error((*_FAILOVER, "patience"), "must not be negative")
    return placement_failover_rules.Failover(
        _behaviour(reading, read.cluster, (*_FAILOVER, "cluster")),
        _behaviour(reading, read.application, (*_FAILOVER, "application")),
        placement_failover_rules.ExternalProbe(read.witness.url, read.witness.timeout)
        if read.witness
        else None,
        read.patience,
    )


def _check_external_probe(reading: readings.Reading, read: Failover) -> None:
    assert read.witness is not None
    path = (*_FAILOVER, "witness")
    if read.cluster is None:
        reading.error(path, "the witness has no effect without cluster", "add cluster: {}")
    # What stands for a cluster's property may be a name, a part of one, or a port.
    if problem := webhooks.url_problem(_VARIABLE.sub("1", read.witness.url)):
        reading.error((*path, "url"), problem, "write https://…")
    for word in dict.fromkeys(_VARIABLE.findall(read.witness.url)):
        cluster_properties.check_name(reading, word, (*path, "url"))
    if not timedelta() < read.witness.timeout <= _LONGEST_WITNESS:
        # Applications are looked at one after another: a slow witness holds up the next one.
        reading.error((*path, "timeout"), "must be more than 0 and at most 30s")


def _behaviour(
    reading: readings.Reading, read: Behaviour | None, path: yaml.Path
) -> placement_failover_rules.Behaviour | None:
    if read is None:
        return None
    if (
        "grace_period" in read.model_fields_set
        and read.purge is not placement_failover_rules.Purge.GRACEFULLY
    ):
        message = f"gracePeriod has no effect with purge: {read.purge.value}"
        reading.error((*path, "gracePeriod"), message, "remove it, or write purge: Gracefully")
    return placement_failover_rules.Behaviour(read.toleration, read.purge, read.grace_period)
