"""From a wanted move to a run that carries it out.

The run brings no release: each cluster gets its part of the placement at the release that it
runs, a new one the last completed release. It has no waves, gates or windows, and nothing of it
is rolled back: when a replacement does not come up, the old copy stays.
"""

from collections.abc import Mapping
from dataclasses import replace

from volary.controller import dividing, moves, preparation, projects, releases, standings, wants
from volary.engine import plan as engine_plan
from volary.engine import rules
from volary.model import manifest
from volary.placement import shifts

_REASON = "a move is not rolled back: what was there before stays until the new is healthy"


async def release(
    desk: releases.Desk,
    place: releases.Place,
    want: wants.Want,
    remembered: str,
    standing: standings.Standing,
) -> releases.Release:
    """Return the new run of a wanted move.

    Args:
        desk: What planning works with.
        place: Where the application lives.
        want: The move; its commit is the last completed release.
        remembered: The last one that succeeded everywhere.
        standing: How the application stands; says where it will be.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    shift = want.shift or shifts.Shift()
    project = await releases.open_place(desk, place, want.commit)
    numbers = await divide(desk, project, standing, fresh=shift.fresh)
    running = {
        name: moves.runs_there(standing, name, want.commit, remembered) for name in shift.clusters
    }
    # Both sides with the new numbers: what a cluster runs already is brought its new part.
    again = await preparation.reopen(
        project,
        running,
        desk.renderer,
        desk.clusters.fleet,
        replace(numbers, before=numbers.now),
    )
    run = engine_plan.new_run(want.id, _plan(project, shift, running, remembered), desk.clock.now())
    origin = replace(
        releases.origin_of(place, want, project, shift.clusters),
        assigned=numbers.now,
        assigned_before=numbers.now,
        chosen=standing.placed.chosen,
    )
    return releases.of_plan(desk, project.application, again, run, origin)


def _plan(
    project: projects.Project,
    shift: shifts.Shift,
    running: Mapping[str, str],
    remembered: str,
) -> engine_plan.Plan:
    return engine_plan.Plan(
        application=project.application.name,
        commit=project.commit,
        groups=engine_plan.one_group(shift.clusters),
        stages=shifts.stages(shift),
        running_commit=remembered,
        running_commits={name: each for name, each in running.items() if each != remembered},
        policy=rules.Policy(
            on_failure=rules.OnFailure.STOP,
            stop_reason=_REASON,
            timeout=project.application.timeout,
        ),
    )


async def divide(
    desk: releases.Desk,
    project: projects.Project,
    standing: standings.Standing,
    *,
    fresh: bool,
) -> dividing.Numbers:
    """Return who gets how many replicas where the application will be, and who had.

    Raises:
        errors.UserError: There is not enough room, or something cannot be divided.
    """
    application, chosen = project.application, standing.placed.chosen
    if not dividing.divides(application):
        return dividing.Numbers()
    rendered: dict[str, list[manifest.Manifest]] = {}
    for name in chosen:
        found = await desk.renderer.undivided(
            project.files, application, directory=project.directory, target=name
        )
        rendered[name] = list(found.manifests)
    members = tuple(each for each in desk.clusters.fleet.clusters if each.name in chosen)
    return await dividing.decide(
        desk.clusters,
        application,
        rendered,
        members,
        standing.assigned,
        patience=desk.patience,
        fresh=fresh,
    )


def pods(numbers: dividing.Numbers) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return how many pods each cluster has and will have of all that is divided."""
    sums: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for found, made in zip(sums, (numbers.before, numbers.now), strict=True):
        for workload in made.workloads:
            for name, count in workload.replicas.items():
                found[name] = found.get(name, 0) + count
    return sums
