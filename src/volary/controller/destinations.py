"""The clusters of a run, once spread constraints and what has moved are taken into account."""

from dataclasses import replace

from volary.config import admission, crosscheck, moving, yaml
from volary.model import application as applications
from volary.model import fleet, problem
from volary.placement import destinations, failover
from volary.planner import targets as target_choice


def going(app: applications.Application, members: fleet.Fleet) -> tuple[fleet.Cluster, ...]:
    """Return the clusters that a run would go to, told from the fleet alone; none: it cannot."""
    there = crosscheck.deployed(app, members)
    admitted = [each for each in there if not admission.why_not(app, each)]
    return destinations.choose(app, admitted, failover.Standing()).clusters


def narrow(
    app: applications.Application,
    selection: target_choice.Selection,
    standing: failover.Standing,
    members: fleet.Fleet,
    document: yaml.Document | None = None,
) -> tuple[target_choice.Selection, tuple[str, ...]]:
    """Return the selection with who is left out, and all clusters that the application is on.

    `document` is the application's file, to name the line of a spread that cannot be met.

    One that it is on and that takes nothing new at the moment keeps its place: nobody takes over
    from it because of that.
    """
    names = set(selection.names) | set(standing.chosen)
    there = [each for each in crosscheck.deployed(app, members) if each.name in names]
    choice = destinations.choose(app, there, standing)
    if choice.failure:
        error = problem.Problem(
            f"the spread cannot be met: {choice.failure}",
            document.where(moving.SPREAD) if document else problem.NOWHERE,
            hint="lower minGroups, or add clusters to the fleet",
        )
        return replace(selection, problems=(*selection.problems, error)), ()
    told = destinations.told(choice)
    if not told:
        return selection, choice.names
    warning = problem.Problem(told, severity=problem.Severity.WARNING)
    targets = tuple(each for each in selection.targets if each.name in choice.names)
    problems = (*selection.problems, warning)
    return replace(selection, targets=targets, problems=problems), choice.names
