"""``volary run``: plan, show, carry out, and say how it ended."""

import asyncio
import contextlib
import os
import signal
import types
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from rich import console as rich_console

from volary.cli import console, exit_codes
from volary.cli.run import approvals, plan_text, preflight_report, summary, views
from volary.clusters.client import client_pool
from volary.config.text import git_addresses
from volary.controller import inputs
from volary.controller.persistence import local_state, redaction
from volary.controller.planning import preflight, preparation, projects
from volary.controller.runs import releases
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import coverage, run_builder, state
from volary.manifests import redaction as manifest_redaction
from volary.model import applications, errors, statuses
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts

#: Wraps the executor, for those who want to look in between (the demo).
ExecutorWrapper = Callable[[executor.StageExecutor], executor.StageExecutor]


#: Seconds that a run which was stopped has for its last words.
_SHUTDOWN_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class OutputMode:
    """How the command talks."""

    as_json: bool = False
    dry_run: bool = False
    #: In whose name approvals are given; empty: nobody's.
    approve_as: str = ""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the demo does differently."""

    wrap: ExecutorWrapper = lambda performer: performer
    image_grace: timedelta = timedelta(seconds=20)
    #: Keep the commit that succeeded for the next run.
    remember: bool = True
    #: In whose name approvals are given; empty: nobody's.
    approve_as: str = ""


async def run(request: preparation.RunOptions, mode: OutputMode) -> int:
    """Carry out a wish and return the exit code."""
    try:
        return await _run(request, mode)
    except errors.UserError as error:
        if mode.as_json:
            console.write_json(preflight_report.refusal_to_json(error.problems))
        raise


def unsent_notifications(application: applications.Application) -> list[errors.Problem]:
    """Say whom only a server would tell of the run."""
    if not application.alerts:
        return []
    names = ", ".join(dict.fromkeys(alert.receiver for alert in application.alerts))
    message = f"{names} is not notified of this run: only `volary server` sends notifications"
    return [errors.Problem(message, severity=errors.Severity.WARNING)]


async def _run(request: preparation.RunOptions, mode: OutputMode) -> int:
    messages = console.messages()
    project = await projects.open_project(request.path, app=request.app, commit=request.commit)
    members = projects.load_fleet(request.fleet, request.contexts)
    async with client_pool.open_pool(members, clock=inputs.SystemClock()) as clusters:
        with _showing_progress(messages):
            prepared = await preparation.prepare(request, clusters, project)
            console.show_problems(
                messages, [*prepared.warnings, *unsent_notifications(project.application)]
            )
            if mode.as_json:
                console.write_json(plan_text.to_json(prepared))
            else:
                plan_text.show(messages, prepared)
            trials = await preflight.try_run(prepared, clusters)
        if mode.dry_run:
            preflight_report.show_trials(trials, as_json=mode.as_json)
        waved = prepared.waves.lenient
        refusal = preflight_report.find_refusal(
            trials, request.on_unreachable, waved, dry_run=mode.dry_run
        )
        if refusal or mode.dry_run:
            return _report_refusal(refusal, messages, mode)
        approvals.check(prepared.plan.stages, mode.approve_as)
        view = choose_view(messages, as_json=mode.as_json)
        silent = preflight.silent(trials)
        left_out = {name: why for name, why in silent.items() if name not in waved}
        console.show_problems(messages, preflight_report.left_out_problems(left_out))
        extras = RunOptions(approve_as=mode.approve_as)
        ended = await carry_out(
            prepared, clusters, view, messages, left_out=left_out, extras=extras
        )
    if not mode.as_json:
        summary.show(console.results(), ended, view.shown)
    return summary.exit_code(ended)


@contextlib.contextmanager
def _showing_progress(messages: rich_console.Console) -> Iterator[None]:
    """Say on a terminal what takes its time, and what Ctrl-C has left: everything."""
    shown = messages.is_terminal and not messages.is_dumb_terminal
    with messages.status("looking at the clusters …") if shown else contextlib.nullcontext():
        try:
            yield
        except asyncio.CancelledError:
            messages.print(f"interrupted: {preflight_report.NOTHING_CHANGED}")
            raise


def _report_refusal(
    refusal: preflight_report.Refusal | None, messages: rich_console.Console, mode: OutputMode
) -> int:
    """Say what keeps the run from beginning, if anything does."""
    if refusal is None:
        return exit_codes.Exit.DONE
    console.show_problems(messages, refusal.problems)
    messages.print(preflight_report.NOTHING_CHANGED)
    if mode.as_json and not mode.dry_run:
        console.write_json(preflight_report.refusal_to_json(refusal.problems))
    return refusal.code


def choose_view(messages: rich_console.Console, *, as_json: bool) -> views.View:
    """Return the view that fits: JSON lines, live on a terminal, else plain lines."""
    if as_json:
        return views.JsonLines()
    if messages.is_terminal and not messages.is_dumb_terminal:
        return views.Live(messages, inputs.SystemClock())
    return views.Lines(messages)


async def carry_out(
    prepared: preparation.PreparedRun,
    clusters: client_pool.ClientPool,
    view: views.View,
    messages: rich_console.Console,
    *,
    left_out: Mapping[str, str] = types.MappingProxyType({}),
    extras: RunOptions | None = None,
) -> state.Run:
    """Carry out a prepared run to its end; Ctrl-C stops it politely, twice at once.

    `left_out` are targets that are known to be unreachable, with the reason of each.
    """
    chosen = extras or RunOptions()
    clock = inputs.SystemClock()
    masker = manifest_redaction.Masker()
    for manifests in (*prepared.manifests.values(), *prepared.old_manifests.values()):
        masker.learn(manifests)
    performer = stage_executor.ClusterExecutor(
        prepared.project.application,
        clusters,
        prepared.rendering.render,
        clock,
        stage_executor.Options(
            allow_mass_deletion=prepared.options.allow_mass_deletion, image_grace=chosen.image_grace
        ),
        contexts.RunEnvironment(
            commander=chosen.approve_as or approvals.user_name(os.environ),
            repository=git_addresses.mask(prepared.project.source.repository),
            summary=prepared.plan.summary,
            checkout=prepared.rendering.checkout,
        ),
        keeper=local_state.LocalTaskState(key=prepared.state_key),
        render_before=prepared.rendering.render_before,
    )
    approver = approvals.Approver(chosen.approve_as, clock)
    observers: tuple[feed.Observer, ...] = (redaction.RedactingObserver(masker, (view,)), approver)
    run = run_builder.new_run(
        uuid.uuid4().hex[:12], releases.plan_of(prepared, can_hold=False), clock.now()
    )
    for target, reason in left_out.items():
        run = releases.leave_unreachable(run, target, reason)
    runner = runners.Runner(run, chosen.wrap(performer), clock=clock, observers=observers)
    approver.runner = runner
    async with inputs.open_meter(
        clusters.fleet.providers, clock=clock, learn=masker.add
    ) as performer.meter:
        with view, _interruptible(runner, messages):
            ended = await runner.carry_out()
    if chosen.remember:
        _save_last_success(prepared, ended, messages)
    return ended


@contextlib.contextmanager
def _interruptible(runner: runners.Runner, messages: rich_console.Console) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into requests to the run while it lasts."""
    loop = asyncio.get_running_loop()
    asked = 0

    def interrupt(name: str) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            messages.print("stopping when the writes under way are done; Ctrl-C again: now")
        runner.interrupt(name)

    caught = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
    before = {each: signal.getsignal(each) for each in caught}
    for each, name in caught.items():
        loop.add_signal_handler(each, interrupt, name)

    def release() -> None:
        for each in caught:
            loop.remove_signal_handler(each)
            # What the loop puts back is not what was there: asyncio.run cancels politely.
            signal.signal(each, before[each])

    try:
        yield
    finally:
        if asked:
            # A second Ctrl-C that comes too late must not cut off what is said at the end.
            loop.call_later(_SHUTDOWN_SECONDS, release)
        else:
            release()


def _save_last_success(
    prepared: preparation.PreparedRun, ended: state.Run, messages: rich_console.Console
) -> None:
    """Keep what runs now; not being able to is no failure of the release."""
    where, key = local_state.state_path(), prepared.state_key
    try:
        if ended.status is statuses.RunStatus.SUCCEEDED:
            local_state.write_commit(where, key, prepared.project.commit)
            local_state.write_assignment(where, key, prepared.numbers.now)
        elif kept := coverage.clusters_with_release(ended):
            local_state.write_kept(where, key, dict.fromkeys(kept, ended.commit))
            numbers = prepared.numbers
            made = numbers.before.taken_over(numbers.now, kept)
            local_state.write_assignment(where, key, made)
    except OSError as error:
        messages.print(
            f"[yellow]warning:[/] the successful commit could not be saved: {error.strerror}"
        )
