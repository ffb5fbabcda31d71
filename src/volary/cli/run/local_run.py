"""``volary run``: plan, show, carry out, and say how it ended."""

import asyncio
import contextlib
import enum
import functools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import console as rich_console

from volary.cli import console, exit_codes, renderings
from volary.cli.run import approvals, matrix, plan_text, preflight_report, summary, views
from volary.clusters.client import client_pool
from volary.controller import inputs, local_runs, system_clock
from volary.controller.applications import run_session
from volary.controller.persistence import redaction
from volary.controller.planning import opened_applications, preflight, preparation
from volary.controller.runs import ready_runs, release_plans
from volary.engine.execution import runners
from volary.engine.observers import feed, observer_events
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.model import applications, errors, json
from volary.model.runs import run_records
from volary.sources.rendering import renderers
from volary.stages.runtime import contexts
from volary.store import stores

#: Returns a run with these observers, ready to begin or to go on.
_OpenSession = Callable[[Sequence[feed.Observer]], Awaitable[run_session.RunSession]]

#: Seconds that a run which was stopped has for its last words.
_SHUTDOWN_SECONDS = 3.0


class LeftBehind(enum.Enum):
    """What becomes of a run that a process did not finish."""

    #: It goes on if it is what is asked for now, else nothing begins.
    COMPARE = enum.auto()
    RESUME = enum.auto()
    ABANDON = enum.auto()


@dataclass(frozen=True, slots=True)
class OutputMode:
    """How the command writes its output."""

    as_json: bool = False
    dry_run: bool = False
    #: In whose name approvals are given; empty: nobody's.
    approve_as: str = ""
    left_behind: LeftBehind = LeftBehind.COMPARE


async def run(request: preparation.RunOptions, mode: OutputMode) -> int:
    """Carry out a run and return the exit code."""
    try:
        return await _run(request, mode)
    except errors.UserError as error:
        if mode.as_json:
            console.write_json(preflight_report.refusal_to_json(error.problems))
        raise


def unsent_notifications(application: applications.Application) -> list[errors.Problem]:
    """Warn of notifications that only a server would send."""
    if not application.alerts:
        return []
    names = ", ".join(dict.fromkeys(alert.receiver for alert in application.alerts))
    message = f"{names} is not notified of this run: only `volary server` sends notifications"
    return [errors.Problem(message, severity=errors.Severity.WARNING)]


async def _run(request: preparation.RunOptions, mode: OutputMode) -> int:
    messages = console.messages()
    opened = await opened_applications.open_application(
        request.path, app=request.app, commit=request.commit
    )
    members = opened_applications.load_fleet(request.fleet, request.contexts)
    console.show_problems(messages, members.warnings)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        if mode.dry_run:
            remembered = await local_runs.with_memory(request, opened, members)
            renderer = renderings.open_renderer(opened)
            prepared, trials = await _plan(remembered, clusters, opened, messages, mode, renderer)
            preflight_report.show_trials(trials, as_json=mode.as_json)
            return _report_refusal(_refusal(prepared, trials, mode), messages, mode)
        address, warnings = local_runs.store_address(local_runs.store_file())
        console.show_problems(messages, warnings)
        options = contexts.Options(allow_mass_deletion=request.allow_mass_deletion)
        async with (
            local_runs.open_store(address, system_clock.SystemClock()) as store,
            open_dependencies(clusters, options, opened) as dependencies,
        ):
            command = _Command(request, mode, messages, store, dependencies, clusters)
            return await command.run(opened)


@dataclass(frozen=True, slots=True)
class _Command:
    """One `volary run` that may write."""

    request: preparation.RunOptions
    mode: OutputMode
    messages: rich_console.Console
    store: stores.Store
    dependencies: ready_runs.Dependencies
    clusters: client_pool.ClientPool

    async def run(self, opened: opened_applications.OpenedApplication) -> int:
        """Go on with a run that was left behind, or begin one."""
        key = local_runs.key_of(opened, self.dependencies.clusters.fleet)
        for known in await local_runs.unfinished(self.store, key):
            async with local_runs.hold(
                self.store, known.name, self.dependencies, self.clusters
            ) as application:
                stored = await application.left_behind()
                if stored is None:
                    continue
                if self.mode.left_behind is not LeftBehind.ABANDON:
                    same = known.name == key.name and stored.head.commit == opened.commit
                    return await self._go_on(application, stored, is_same=same)
                await application.abandon(stored, self._user)
                self.messages.print(
                    f"run {stored.head.id} was abandoned: the clusters stay as it left them"
                )
        if self.mode.left_behind is LeftBehind.RESUME:
            raise errors.user_error(
                "there is no unfinished run of this application on these clusters",
                hint="leave --resume out to begin one",
            )
        async with local_runs.hold(
            self.store, key.name, self.dependencies, self.clusters
        ) as application:
            return await self._begin(application, opened)

    @property
    def _user(self) -> str:
        return self.mode.approve_as or approvals.user_name()

    async def _begin(
        self,
        application: local_runs.LocalApplication,
        opened: opened_applications.OpenedApplication,
    ) -> int:
        mode, messages = self.mode, self.messages
        request = release_plans.remembering(self.request, application.status)
        renderer = self.dependencies.renderer
        prepared, trials = await _plan(request, self.clusters, opened, messages, mode, renderer)
        refusal = _refusal(prepared, trials, mode)
        if refusal:
            return _report_refusal(refusal, messages, mode)
        approvals.check(prepared.plan.stages, mode.approve_as)
        silent = preflight.silent(trials)
        left_out = {name: why for name, why in silent.items() if name not in prepared.waves.lenient}
        console.show_problems(messages, preflight_report.left_out_problems(left_out))
        return await self._finish(
            application,
            lambda observers: application.begin(prepared, trials, self._user, observers),
            matrix.Matrix(),
        )

    async def _go_on(
        self,
        application: local_runs.LocalApplication,
        stored: run_records.StoredRun,
        *,
        is_same: bool,
    ) -> int:
        """Go on with a run that was left behind, if it is what was asked for.

        Raises:
            errors.UserError: It is another one, or cannot go on.
        """
        run, request = codec.read_run(stored), self.request
        what = f"run {run.id} of commit {run.commit[:12]} on {', '.join(run.targets)}"
        if not is_same and self.mode.left_behind is not LeftBehind.RESUME:
            raise errors.user_error(
                f"{what} was begun and has not ended",
                hint="--resume goes on with it; --abandon leaves the clusters as they are, and"
                " begins what is asked for now",
            )
        missing = set(run.targets) - set(self.dependencies.clusters.fleet.names)
        if missing:
            raise errors.user_error(
                f"{what} cannot go on: the fleet has no {', '.join(sorted(missing))}",
                hint="name the same clusters, or pass --abandon",
            )
        commit = "" if run.commit.startswith(opened_applications.CONTENT_PREFIX) else run.commit
        opened = await opened_applications.open_application(
            request.path, app=request.app, commit=commit
        )
        if opened.commit != run.commit:
            raise errors.user_error(
                f"{what} cannot go on: the files are other ones now ({opened.commit[:12]})",
                hint="put them back as they were, or pass --abandon",
            )
        pending = [stage.stage for stage in run.all_stages if not stage.is_final]
        approvals.check(pending, self.mode.approve_as)
        if self.mode.as_json:
            console.write_json(_resumed(run))
        else:
            self.messages.print(f"going on with {what}, which has not ended", markup=False)
        return await self._finish(
            application,
            lambda observers: application.take_up(stored, opened, observers),
            functools.reduce(
                matrix.fold,
                observer_events.between(None, run, run.started or self.dependencies.clock.now()),
                matrix.Matrix(),
            ),
        )

    async def _finish(
        self,
        application: local_runs.LocalApplication,
        open_session: _OpenSession,
        shown: matrix.Matrix,
    ) -> int:
        view = views.choose(self.messages, as_json=self.mode.as_json)
        view.shown = shown
        approver = approvals.Approver(self.mode.approve_as, self.dependencies.clock)
        session = await open_session((view, approver))
        approver.follow(session.runner)
        ended = await carry_out(application, session, view, self.messages)
        if not self.mode.as_json:
            summary.show(console.results(), ended)
        return summary.exit_code(ended)


def _resumed(run: state.Run) -> json.JsonObject:
    """Return the first line of ``--output json`` of a run that goes on."""
    return {
        "event": "resumed",
        "run": run.id,
        "application": run.application,
        "commit": run.commit,
        "targets": list(run.targets),
        "status": run.status.value,
        "reason": run.reason,
    }


async def _plan(
    request: preparation.RunOptions,
    clusters: client_pool.ClientPool,
    opened: opened_applications.OpenedApplication,
    messages: rich_console.Console,
    mode: OutputMode,
    renderer: renderers.Renderer,
) -> tuple[preparation.PreparedRun, tuple[preflight.Trial, ...]]:
    """Find out everything, show it, and ask the clusters whether they would take it."""
    with _showing_progress(messages):
        prepared = await preparation.prepare(
            request, clusters, opened, renderer=renderer, told=console.tell
        )
        console.show_problems(
            messages, [*prepared.warnings, *unsent_notifications(opened.application)]
        )
        if mode.as_json:
            console.write_json(plan_text.to_json(prepared))
        else:
            plan_text.show(messages, prepared)
        trials = await preflight.try_run(
            prepared, clusters, told=console.tell, closely=mode.dry_run
        )
        console.show_problems(messages, preflight.unmeasured(trials))
        return prepared, trials


def _refusal(
    prepared: preparation.PreparedRun, trials: Sequence[preflight.Trial], mode: OutputMode
) -> preflight_report.Refusal | None:
    return preflight_report.find_refusal(
        trials, prepared.options.on_unreachable, prepared.waves.lenient, dry_run=mode.dry_run
    )


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


@contextlib.asynccontextmanager
async def open_dependencies(
    clusters: client_pool.ClientPool,
    options: contexts.Options,
    opened: opened_applications.OpenedApplication | None = None,
) -> AsyncIterator[ready_runs.Dependencies]:
    """Open what a run works with besides its clusters; the user's keys for an application."""
    clock, secrets = system_clock.SystemClock(), redaction.SecretValues()
    providers = clusters.fleet.providers
    renderer = renderings.open_renderer(opened, secrets) if opened else renderers.Renderer()
    async with inputs.open_meter(providers, clock=clock, learn=secrets.learn) as meter:
        yield ready_runs.Dependencies(
            local_runs.LocalRepositories(),
            clusters,
            clock,
            renderer=renderer,
            secrets=secrets,
            executor_options=options,
            meter=meter,
        )


async def carry_out(
    application: local_runs.LocalApplication,
    session: run_session.RunSession,
    view: views.View,
    messages: rich_console.Console,
) -> state.Run:
    """Carry a run out to its end; Ctrl-C stops it politely, twice at once.

    Args:
        application: Its lease is held.
        session: The run, ready to begin or to go on; `view` is one of its observers.
        view: Shows what happens.
        messages: Where it is said that a stop was understood.
    """
    with view, _interruptible(session.runner, messages):
        return await application.carry_out(session)


@contextlib.contextmanager
def _interruptible(runner: runners.AnyRunner, messages: rich_console.Console) -> Iterator[None]:
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
    before = {caught_signal: signal.getsignal(caught_signal) for caught_signal in caught}
    for signal_number, name in caught.items():
        loop.add_signal_handler(signal_number, interrupt, name)

    def release() -> None:
        for caught_signal in caught:
            loop.remove_signal_handler(caught_signal)
            # What the loop puts back is not what was there: asyncio.run cancels politely.
            signal.signal(caught_signal, before[caught_signal])

    try:
        yield
    finally:
        if asked:
            # A second Ctrl-C that comes too late must not cut off what is said at the end.
            loop.call_later(_SHUTDOWN_SECONDS, release)
        else:
            release()
