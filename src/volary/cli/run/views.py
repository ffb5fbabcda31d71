"""Views of a run while it happens: plain lines, JSON lines, or live on a terminal."""

import asyncio
from datetime import datetime, timedelta
from typing import Self

from rich import console as rich_console
from rich import live, markup

from volary.cli import console
from volary.cli.run import cells, grid, matrix, reasons, screen
from volary.controller import system_clock
from volary.engine.observers import feed
from volary.model import clocks, statuses

#: Between two lines about what one cluster waits for.
_WAITING_INTERVAL = timedelta(seconds=5)


class View:
    """Shows events as they come; entered before the first and left after the last."""

    def __init__(self) -> None:
        #: The run as far as its events have said.
        self.shown = matrix.Matrix()

    def notify(self, event: feed.RunEvent) -> None:
        """Take one event; returns at once."""
        self.shown = matrix.fold(self.shown, event)

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(self, *_: object) -> None:
        """Show the last state and stop."""


class Lines(View):
    """A line per event that says something new; for pipes, files and CI logs.

    What a cluster waits for is written when it begins, and again when it is another thing, but
    of one cluster at most every few seconds: then what is the newest by now. A reason is written
    once.
    """

    def __init__(self, messages: rich_console.Console) -> None:
        super().__init__()
        self._console = messages
        self._reasons = reasons.Reasons()
        #: What was written last of each task under way.
        self._said: dict[matrix.CellKey, feed.TaskProgressed] = {}
        #: What is to be written once the time has come.
        self._held: dict[matrix.CellKey, feed.TaskProgressed] = {}
        self._timer: asyncio.TimerHandle | None = None

    def notify(self, event: feed.RunEvent) -> None:
        """Write the event's line, unless it says what was said before."""
        super().notify(event)
        if isinstance(event, feed.TaskProgressed):
            self._held.pop((event.stage, event.target), None)
        self._write_due(event.at)
        if line := self._line(event):
            self._write(event.at, line)

    def __exit__(self, *_: object) -> None:
        """Write nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _write(self, at: datetime, line: str) -> None:
        spent = f"{(at - (self.shown.started or at)).total_seconds():7.2f}s"
        self._console.print(f"[dim]{spent}[/]  {line}")

    def _line(self, event: feed.RunEvent) -> str:
        match event:
            case feed.TaskProgressed():
                return self._progress(event)
            case feed.TaskFinished():
                self._held.pop((event.stage, event.target), None)
                line = self._reasons.shortened(_task_line(event))
                if event.attempt and event.status in _WORTH_A_LINE:
                    self._reasons.say(event.target, markup.escape(event.reason))
                return line
            case feed.TaskEvent():
                return self._reasons.shortened(_task_line(event))
            case feed.StageEvent():
                return self._reasons.shortened(_stage_line(event))
            case _:
                return self._reasons.shortened(_run_line(event))

    def _progress(self, event: feed.TaskProgressed) -> str:
        key = (event.stage, event.target)
        before = self._said.get(key)
        if before is not None and before.sentence == event.sentence:
            return ""
        if before is not None and event.at < before.at + _WAITING_INTERVAL:
            self._held[key] = event
            self._wake(_WAITING_INTERVAL)
            return ""
        return self._progress_line(key, event)

    def _progress_line(self, key: matrix.CellKey, event: feed.TaskProgressed) -> str:
        self._held.pop(key, None)
        self._said[key] = event
        return f"{_place(event)} {markup.escape(event.sentence)}"

    def _write_due(self, now: datetime) -> None:
        """Write what was held back for long enough."""
        for key, event in tuple(self._held.items()):
            if now >= self._said[key].at + _WAITING_INTERVAL:
                self._write(now, self._progress_line(key, event))

    def _wake(self, delay: timedelta) -> None:
        """Write what is held back also when nothing happens any more."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._timer is None:
            self._timer = loop.call_later(delay.total_seconds(), self._write_held)

    def _write_held(self) -> None:
        self._timer = None
        for key, event in tuple(self._held.items()):
            self._write(event.at, self._progress_line(key, event))


def _place(event: feed.TaskEvent) -> str:
    return f"[bold]{markup.escape(event.target)}[/] {event.stage_name}:"


def _task_line(event: feed.TaskEvent) -> str:
    match event:
        case feed.TaskLogged():
            return f"{_place(event)} {markup.escape(event.line)}"
        case feed.TaskStopping():
            return f"{_place(event)} asked to stop: {markup.escape(event.reason)}"
        case feed.TaskFinished() if event.attempt:
            sign, colour = cells.SIGNS[event.status]
            reason = markup.escape(event.reason)
            return f"{_place(event)} [{colour}]{sign} {event.status.value}[/]: {reason}"
        case _:
            return ""


def _stage_line(event: feed.StageEvent) -> str:
    match event:
        case feed.StageStarted():
            return f"[bold]{event.stage_name}[/] on {', '.join(event.targets)}"
        case feed.StageWaiting():
            return f"{event.stage_name} waits: {markup.escape(event.reason)}"
        case feed.StageFinished() if event.status in _WORTH_A_LINE:
            _, colour = cells.SIGNS[event.status]
            reason = markup.escape(event.reason)
            return f"{event.stage_name} [{colour}]{event.status.value}[/]: {reason}"
        case _:
            return ""


#: How a stage may end that its tasks' lines do not say already; never-started ones say nothing.
_WORTH_A_LINE = (statuses.TaskStatus.FAILED, statuses.TaskStatus.UNREACHABLE)


def _run_line(event: feed.RunEvent) -> str:
    match event:
        case feed.RollbackStarted():
            where = ", ".join(event.targets)
            return f"[yellow]rolling back[/] {where}: {markup.escape(event.reason)}"
        case feed.RunChanged() if event.status is statuses.RunStatus.WAITING:
            return f"{event.status.value.replace('_', ' ')}: {markup.escape(event.reason)}"
        case feed.RequestRefused():
            return f"[yellow]not done:[/] {markup.escape(event.reason)}"
        case _:
            return ""


class JsonLines(View):
    """One JSON object a line on stdout; `feed` documents the fields."""

    def notify(self, event: feed.RunEvent) -> None:
        """Write the event and flush, so that a reader sees it now."""
        super().notify(event)
        console.write_json(feed.to_json(event))


class Live(View):
    """The matrix, redrawn in place; what matters stays on the screen at the end."""

    def __init__(self, messages: rich_console.Console, clock: clocks.Clock) -> None:
        super().__init__()
        self._console = messages
        self._clock = clock
        self._live = live.Live(
            console=messages,
            get_renderable=self._render,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        """Take over the lower part of the terminal."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back; leave the last matrix on the screen."""
        self._live.stop()
        if self.shown.started:
            width = self._console.width
            self._console.print(grid.draw(self.shown, self._clock.now(), width=width))

    def _render(self) -> rich_console.RenderableType:
        width, height = self._console.size
        return screen.draw(self.shown, self._clock.now(), width=width, height=height)


def choose(messages: rich_console.Console, *, as_json: bool = False) -> View:
    """Return the view that fits: JSON lines, live on a terminal, else plain lines."""
    if as_json:
        return JsonLines()
    if messages.is_terminal and not messages.is_dumb_terminal:
        return Live(messages, system_clock.SystemClock())
    return Lines(messages)
