"""What bringing the last completed release to single clusters means for an application. Pure.

Such a run is no release: what became of the commit, and how the application stands, was said
when the release ended. Only when the last of the clusters that the release went on without has
got it does the application stand otherwise than before: the release is everywhere then.
"""

from dataclasses import replace

from volary.controller import reaching, standings, wants
from volary.engine import state


def is_catch_up(standing: standings.Standing, run: state.Run) -> bool:
    """Say whether the run under way brings single clusters what they have missed."""
    return bool(run.id) and standing.reached.run == run.id


def begun(standing: standings.Standing, run: state.Run) -> standings.Standing:
    """Return the standing once the run is kept."""
    wanted = standing.catch_up
    left = None if wanted is not None and wanted.id == run.id else wanted
    reached = replace(standing.reached, run=run.id)
    return replace(standing, catch_up=left, reached=reached, run=run.id, under_way=True)


def concluded(
    standing: standings.Standing, run: state.Run, running: str, identity: reaching.Identity
) -> tuple[standings.Standing, str]:
    """Return the standing after such a run, and the sentence when the release is everywhere now.

    Args:
        standing: As it was kept last.
        run: It has ended.
        running: The last commit that succeeded everywhere.
        identity: What tells a cluster from one built in its place.
    """
    before = standing.reached
    reached = reaching.after_catch_up(before, run, identity)
    done = reaching.caught_up(run)
    waiting = {name: f"run {run.id}: {run.reason}" for name in run.targets if name not in done}
    reached = replace(reached, waiting={**reached.waiting, **waiting})
    if run.commit == running or run.commit != reached.commit:
        kept = {name: commit for name, commit in standing.kept.items() if name not in done}
    else:
        kept = {**standing.kept, **dict.fromkeys(done, run.commit)}
    ended = replace(standing, reached=reached, kept=kept, under_way=False)
    if not before.behind or reached.behind or run.commit != reached.commit:
        return ended, ""
    kept = {name: commit for name, commit in kept.items() if commit != run.commit}
    last = ", ".join(done)
    return replace(ended, kept=kept), f"every cluster has {run.commit[:7]}; {last} came last"


def refused(standing: standings.Standing, want: wants.Want, reason: str) -> standings.Standing:
    """Return the standing when a wanted catch-up cannot become a run."""
    waiting = {**standing.reached.waiting, **dict.fromkeys(want.targets, reason)}
    wanted = standing.catch_up
    left = None if wanted is not None and wanted.id == want.id else wanted
    return replace(standing, catch_up=left, reached=replace(standing.reached, waiting=waiting))
