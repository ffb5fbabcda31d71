"""``placement.tolerations``, ``spread`` and ``failover``: on which and how many clusters an
application is, and when it moves.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.fleet import cluster_properties
from volary.config.stages import webhooks
from volary.config.text import yaml
from volary.model import applications
from volary.model.fleet import taints
from volary.model.placement import failover_rules, spread_constraints

SPREAD: yaml.Path = ("spec", "placement", "spread")
_FAILOVER: yaml.Path = ("spec", "placement", "failover")
_TOLERATIONS: yaml.Path = ("spec", "placement", "tolerations")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LONGEST_WITNESS = timedelta(seconds=30)


def with_policies(
    application: applications.Application, added: applications.Application
) -> applications.Application:
    """Return an application with what policies beside its file say; its own word counts."""
    return replace(
        application,
        tolerations=(*application.tolerations, *added.tolerations),
        spread=application.spread or added.spread,
        failover=application.failover or added.failover,
    )


def check_spread(reading: readings.Reading, read: Sequence[spread_constraints.Constraint]) -> None:
    """Note what is wrong with over what the application is spread."""
    for place, constraint in enumerate(read):
        path = (*SPREAD, place)
        if constraint.by is not None and constraint.by_label:
            reading.error(path, "by and byLabel are both given", "keep one of them")
        if constraint.max_groups and constraint.max_groups < constraint.min_groups:
            reading.error((*path, "maxGroups"), "maxGroups is less than minGroups")
    _check_counts(reading, read)


def _check_counts(
    reading: readings.Reading, constraints: Sequence[spread_constraints.Constraint]
) -> None:
    by_cluster = [
        place for place, constraint in enumerate(constraints) if constraint.is_of_clusters
    ]
    by_group = [
        place for place, constraint in enumerate(constraints) if not constraint.is_of_clusters
    ]
    for place in (*by_cluster[1:], *by_group[1:]):
        first = constraints[(by_cluster if place in by_cluster else by_group)[0]]
        reading.error(
            (*SPREAD, place),
            f"it is spread by {first.key} already",
            "one constraint by cluster and one by region, zone, provider or a label",
        )
    if by_cluster and by_group:
        limit, groups = constraints[by_cluster[0]], constraints[by_group[0]]
        if limit.max_groups and limit.max_groups < groups.least:
            reading.error(
                (*SPREAD, by_cluster[0], "maxGroups"),
                f"{groups.least} by {groups.key} are more than {limit.max_groups} clusters",
            )


def check_failover(reading: readings.Reading, read: failover_rules.Failover) -> None:
    """Note what is wrong with when the application is moved."""
    if read.cluster is None and read.application is None:
        reading.error(_FAILOVER, "it never moves", "add cluster, application or both")
    if read.witness is not None:
        _check_external_probe(reading, read, read.witness)
    for key, behaviour in (("cluster", read.cluster), ("application", read.application)):
        at = (*_FAILOVER, key, "gracePeriod")
        purge = failover_rules.Purge.GRACEFULLY if behaviour is None else behaviour.purge
        if purge is not failover_rules.Purge.GRACEFULLY and reading.written(at) is not None:
            message = f"gracePeriod has no effect with purge: {purge.value}"
            reading.error(at, message, "remove it, or write purge: Gracefully")


def _check_external_probe(
    reading: readings.Reading, read: failover_rules.Failover, probe: failover_rules.ExternalProbe
) -> None:
    path = (*_FAILOVER, "witness")
    if read.cluster is None:
        reading.error(path, "witness has no effect without cluster", "add cluster: {}")
    # What stands for a cluster's property may be a name, a part of one, or a port.
    if problem := webhooks.url_problem(_VARIABLE.sub("1", probe.url)):
        reading.error((*path, "url"), problem, "write https://…")
    for word in dict.fromkeys(_VARIABLE.findall(probe.url)):
        cluster_properties.check_name(reading, word, (*path, "url"))
    if not timedelta() < probe.timeout <= _LONGEST_WITNESS:
        # Applications are checked one after another: a slow external probe holds up the next one.
        reading.error((*path, "timeout"), "must be more than 0 and at most 30s")


def check_tolerations(reading: readings.Reading, read: Iterable[taints.Toleration]) -> None:
    """Note what is wrong with what an application tolerates (Kubernetes: validation)."""
    for place, toleration in enumerate(read):
        _check_toleration(reading, toleration, (*_TOLERATIONS, place))


def _check_toleration(reading: readings.Reading, read: taints.Toleration, path: yaml.Path) -> None:
    exists = read.operator is taints.TolerationOperator.EXISTS
    if not read.key and not exists:
        reading.error(path, "a toleration without a key is for all keys", "write operator: Exists")
    if exists and read.value:
        reading.error((*path, "value"), "Exists compares no value", "remove it, or write Equal")
    if read.toleration_seconds is not None and read.effect is taints.Effect.NO_SCHEDULE:
        message = "NoSchedule is tolerated or not, whatever the time"
        reading.error((*path, "tolerationSeconds"), message, "write effect: NoExecute")
