"""The clusters of a run, once spread constraints and what has moved are taken into account."""

from dataclasses import replace

from volary.model import application as applications
from volary.model import problem
from volary.placement import destinations, failover
from volary.planner import targets as target_choice


def narrow(
    app: applications.Application,
    selection: target_choice.Selection,
    standing: failover.Standing,
) -> target_choice.Selection:
    """Return the selection with the clusters that the application is on, and who is left out."""
    choice = destinations.choose(app, selection.targets, standing)
    if choice.failure:
        error = problem.Problem(
            f"the spread cannot be met: {choice.failure}",
            hint="lower minGroups, or add clusters to the fleet",
        )
        return replace(selection, problems=(*selection.problems, error))
    told = destinations.told(choice)
    if not told:
        return selection
    warning = problem.Problem(told, severity=problem.Severity.WARNING)
    return replace(selection, targets=choice.clusters, problems=(*selection.problems, warning))
