"""Which of the clusters that qualify an application is on: by spread, and by what has moved.

Without a spread these are all of them, but for those that the application has left. Pure; from
the fleet alone where nothing is remembered.
"""

from collections.abc import Sequence

from volary.model import applications, phrases
from volary.model.fleet import fleets
from volary.placement.failover import situations, spread


def choose(
    app: applications.Application,
    qualified: Sequence[fleets.Cluster],
    placement: situations.PlacementState,
) -> spread.Choice:
    """Return where the application is, and why not on the others.

    `qualified` are the clusters of its targets that take something new, or hold it already.
    """
    gone = {name: f"it moved away: {reason}" for name, reason in placement.away.items()}
    staying = [cluster for cluster in qualified if cluster.name not in gone]
    choice = spread.choose(staying, app.spread, placement.chosen)
    names = {cluster.name for cluster in qualified}
    left_out = {name: why for name, why in gone.items() if name in names}
    return spread.Choice(choice.clusters, {**choice.left_out, **left_out}, choice.failure)


def describe_left_out(choice: spread.Choice) -> str:
    """Return who is left out and why, one sentence with the first five; empty: nobody is."""
    lines = [f"{name} ({why})" for name, why in choice.left_out.items()]
    return f"not deployed to {phrases.first_of(lines)}" if lines else ""
