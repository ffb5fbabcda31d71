"""From a wanted catch-up to a run: the last completed release, for the clusters that miss it.

It is a quick sync without waves and gates: the release has passed them. Windows are looked at
before (`catching_up`), so that a lane is never held up by one.
"""

from dataclasses import replace

from volary.controller import dividing, preparation, releases, standings, wants
from volary.engine import plan as engine_plan
from volary.engine import rules
from volary.model import plan, stage

_STOPS = "autoRollback is off"


async def release(
    desk: releases.Desk,
    place: releases.Place,
    want: wants.Want,
    remembered: str,
    standing: standings.Standing,
) -> releases.Release:
    """Return the new run of a wanted catch-up.

    `remembered` is the last commit that succeeded everywhere.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    project = await releases.open_place(desk, place, want.commit)
    application = project.application
    running = {name: _runs(standing, name, remembered) for name in want.targets}
    numbers = dividing.Numbers()
    if dividing.divides(application):
        numbers = dividing.Numbers(standing.assigned, standing.assigned)
    again = await preparation.reopen(project, running, desk.renderer, desk.clusters.fleet, numbers)
    holds = rules.OnFailure.ROLLBACK if application.planner.auto_rollback else rules.OnFailure.STOP
    made = engine_plan.Plan(
        application=application.name,
        commit=project.commit,
        groups=engine_plan.one_group(want.targets),
        stages=(_sync(application.quick_sync, want),),
        # A cluster that is not named has nothing to go back to.
        running_commit="",
        running_commits={name: commit for name, commit in running.items() if commit},
        policy=rules.Policy(
            on_failure=holds,
            stop_reason=_STOPS if holds is rules.OnFailure.STOP else "",
            timeout=application.timeout,
        ),
    )
    run = engine_plan.new_run(want.id, made, desk.clock.now())
    origin = replace(
        releases.origin_of(place, want, project, want.targets),
        strategy=plan.Strategy.QUICK_SYNC.value,
        assigned=numbers.now,
        assigned_before=numbers.now,
        chosen=standing.placed.chosen,
    )
    return releases.of_plan(desk, application, again, run, origin)


def _runs(standing: standings.Standing, name: str, remembered: str) -> str:
    """Return what a cluster runs of the application; empty: nothing."""
    before = remembered if name in standing.reached.behind else ""
    return standing.kept.get(name) or before


def _sync(options: stage.SyncOptions, want: wants.Want) -> stage.Stage:
    return stage.Stage(
        stage.StageName.SYNC,
        options,
        index=0,
        description="Bring clusters the last completed release",
        targets=want.targets,
    )
