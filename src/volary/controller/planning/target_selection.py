"""The clusters of a run, once spread constraints and what has moved are taken into account."""

from dataclasses import replace

from volary.config.crosscheck import eligibility, fleet_checks
from volary.config.placement import spread_and_failover
from volary.config.text import yaml
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.placement.failover import destinations, situations
from volary.planner import targets as target_choice


def clusters_of(app: applications.Application, members: fleets.Fleet) -> tuple[fleets.Cluster, ...]:
    """Return the clusters that a run would go to, told from the fleet alone; none: it cannot."""
    there = fleet_checks.deployment_targets(app, members)
    admitted = [cluster for cluster in there if not eligibility.exclusion_reason(app, cluster)]
    return destinations.choose(app, admitted, situations.PlacementState()).clusters


def narrow(
    app: applications.Application,
    selection: target_choice.Selection,
    placement: situations.PlacementState,
    members: fleets.Fleet,
    document: yaml.Document | None = None,
) -> tuple[target_choice.Selection, tuple[str, ...]]:
    """Return the selection with who is left out, and all clusters that the application is on.

    `document` is the application's file, to name the line of a spread that cannot be met.

    One that it is on and that takes nothing new at the moment keeps its place: nobody takes over
    from it because of that.
    """
    names = set(selection.names) | set(placement.chosen)
    there = [
        cluster
        for cluster in fleet_checks.deployment_targets(app, members)
        if cluster.name in names
    ]
    choice = destinations.choose(app, there, placement)
    if choice.failure:
        error = errors.Problem(
            f"the spread cannot be met: {choice.failure}",
            document.where(spread_and_failover.SPREAD) if document else errors.NOWHERE,
            hint="lower minGroups, or add clusters to the fleet",
        )
        return replace(selection, problems=(*selection.problems, error)), ()
    told = destinations.describe_left_out(choice)
    if not told:
        return selection, choice.names
    warning = errors.Problem(told, severity=errors.Severity.WARNING)
    targets = tuple(target for target in selection.targets if target.name in choice.names)
    problems = (*selection.problems, warning)
    return replace(selection, targets=targets, problems=problems), choice.names
