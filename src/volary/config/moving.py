"""Reads ``placement.spread`` and ``placement.failover``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from volary.config import cluster_properties, moving_sections, sections, shape, webhooks, yaml
from volary.model import application as applications
from volary.model import failover, spreading

SPREAD: yaml.Path = ("spec", "placement", "spread")
_FAILOVER: yaml.Path = ("spec", "placement", "failover")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LONGEST_WITNESS = timedelta(seconds=30)


def spread_of(reading: shape.Reading, spec: sections.Spec) -> tuple[spreading.Constraint, ...]:
    """Return over what the application is spread; only our own dialect can say."""
    if not isinstance(spec, sections.VolarySpec):
        return ()
    return spread(reading, spec.placement.spread)


def failover_of(reading: shape.Reading, spec: sections.Spec) -> failover.Failover | None:
    """Return when the application is moved; only our own dialect can say."""
    if not isinstance(spec, sections.VolarySpec):
        return None
    return moves(reading, spec.placement.failover)


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


def spread(
    reading: shape.Reading, read: Sequence[moving_sections.SpreadConstraint]
) -> tuple[spreading.Constraint, ...]:
    """Return over what the application is spread; problems are noted."""
    found = tuple(_constraints(reading, read))
    _check_counts(reading, found)
    return found


def _constraints(
    reading: shape.Reading, read: Sequence[moving_sections.SpreadConstraint]
) -> Iterator[spreading.Constraint]:
    for place, each in enumerate(read):
        path = (*SPREAD, place)
        if each.by is not None and each.by_label:
            reading.error(path, "by and byLabel are both given", "keep one of them")
        if each.max_groups and each.max_groups < each.min_groups:
            reading.error((*path, "maxGroups"), "maxGroups is less than minGroups")
        field = each.by or spreading.Field.CLUSTER
        yield spreading.Constraint(field, each.by_label, max(each.min_groups, 1), each.max_groups)


def _check_counts(reading: shape.Reading, found: Sequence[spreading.Constraint]) -> None:
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


def moves(
    reading: shape.Reading, read: moving_sections.Failover | None
) -> failover.Failover | None:
    """Return when the application is moved; problems are noted."""
    if read is None:
        return None
    if read.cluster is None and read.application is None:
        reading.error(_FAILOVER, "it never moves", "add cluster, application or both")
    if read.witness is not None:
        _check_witness(reading, read)
    if read.patience < timedelta():
        reading.error((*_FAILOVER, "patience"), "must not be negative")
    return failover.Failover(
        _behaviour(reading, read.cluster, (*_FAILOVER, "cluster")),
        _behaviour(reading, read.application, (*_FAILOVER, "application")),
        failover.Witness(read.witness.url, read.witness.timeout) if read.witness else None,
        read.patience,
    )


def _check_witness(reading: shape.Reading, read: moving_sections.Failover) -> None:
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
    reading: shape.Reading, read: moving_sections.Behaviour | None, path: yaml.Path
) -> failover.Behaviour | None:
    if read is None:
        return None
    if "grace_period" in read.model_fields_set and read.purge is not failover.Purge.GRACEFULLY:
        message = f"gracePeriod has no effect with purge: {read.purge.value}"
        reading.error((*path, "gracePeriod"), message, "remove it, or write purge: Gracefully")
    return failover.Behaviour(read.toleration, read.purge, read.grace_period)
