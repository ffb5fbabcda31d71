"""One release of a demo: planned, shown and carried out before everybody's eyes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from rich import console as rich_console

from volary.cli import announcement, running, summary
from volary.clusters import pool
from volary.controller import preparation, projects
from volary.engine import executor, standing, state

#: What a demo puts around the executor of its tasks.
Wrap = Callable[[executor.StageExecutor], executor.StageExecutor]


def _as_it_is(performer: executor.StageExecutor) -> executor.StageExecutor:
    return performer


async def carry_out(
    console: rich_console.Console,
    clusters: pool.Pool,
    repository: Path,
    application: str,
    *,
    wrap: Wrap = _as_it_is,
    before: state.Run | None = None,
) -> state.Run:
    """Release the head of the demo's repository and return how the run ended.

    `before` is a run that did not reach all clusters; what they run is known from it.
    """
    project = await projects.open_project(str(repository), app=application)
    wish = preparation.Wish(str(repository))
    if before is not None:
        kept = dict.fromkeys(standing.kept(before), before.commit)
        wish = replace(wish, remembered=before.running_commit, kept=kept)
    prepared = await preparation.prepare(wish, clusters, project)
    announcement.show(console, prepared)
    console.print()
    view = running.choose_view(console, as_json=False)
    extras = running.Extras(wrap=wrap, image_grace=timedelta(seconds=4), remember=False)
    ended = await running.carry_out(prepared, clusters, view, console, extras=extras)
    summary.show(console, ended, view.shown)
    return ended
