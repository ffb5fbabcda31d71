"""What an application's project says now of a run under way: its windows, and clusters at once.

Kinds, destinations, stages and scripts are asked for at each task and write (`tenancy.guards`).
When something may begin is for the run itself to know, so it is told.
"""

from collections.abc import Sequence
from datetime import datetime

from volary.controller.planning import run_waves
from volary.controller.status import run_requests
from volary.engine.runs import state, updates
from volary.engine.state_machine import events
from volary.model.fleet import fleets
from volary.tenancy import membership


def change(
    run: state.Run,
    kind: run_requests.KindName,
    standing: membership.Standing,
    clusters: Sequence[fleets.Cluster],
    now: datetime,
) -> events.ProjectChanged | None:
    """Return what a run has to be told of its project; None: it goes by that already.

    Args:
        run: As it is.
        kind: Of the run. Windows hold up releases and nothing else.
        standing: Of the application's project now.
        clusters: Those of the fleet.
        now: The time.
    """
    project = standing.project
    if standing.reason or run.is_final:
        return None  # nothing more is done for who has no project, whatever the time
    mine = set(run.targets)
    concerned = [cluster for cluster in clusters if cluster.name in mine]
    has_windows = project is not None and kind is run_requests.KindName.RELEASE
    windows = run_waves.project_windows(project, concerned) if project and has_windows else ()
    most = project.limits.clusters if project is not None else 0
    if updates.with_project_rules(run, windows, most) is run:
        return None
    return events.ProjectChanged(now, windows, most)


def applied(
    run: state.Run,
    kind: run_requests.KindName,
    standing: membership.Standing,
    clusters: Sequence[fleets.Cluster],
    now: datetime,
) -> state.Run:
    """Return a run that nobody carries out yet as its project wants it now; see `change`."""
    changed = change(run, kind, standing, clusters, now)
    if changed is None:
        return run
    return updates.with_project_rules(run, changed.windows, changed.most_at_once)
