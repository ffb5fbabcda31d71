"""Views of a run while it happens: plain lines, JSON lines, or live on a terminal."""

from typing import Self

from rich import console as rich_console
from rich import live, markup

from volary.cli import console
from volary.cli.run import cells, grid, matrix, screen
from volary.controller import inputs
from volary.engine.observers import feed
from volary.model import clocks, statuses


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
    """A line per event that says something new; for pipes, files and CI logs."""

    def __init__(self, messages: rich_console.Console) -> None:
        super().__init__()
        self._console = messages
        self._said: dict[matrix.CellKey, str] = {}

    def notify(self, event: feed.RunEvent) -> None:
        """Write the event's line, unless it says what was said before."""
        super().notify(event)
        line = self._line(event)
        if line:
            began = self.shown.started or event.at
            spent = f"{(event.at - began).total_seconds():7.2f}s"
            self._console.print(f"[dim]{spent}[/]  {line}")

    def _line(self, event: feed.RunEvent) -> str:
        match event:
            case feed.TaskProgressed():
                return self._progress(event)
            case feed.TaskEvent():
                return _task_line(event)
            case feed.StageEvent():
                return _stage_line(event)
            case _:
                return _run_line(event)

    def _progress(self, event: feed.TaskProgressed) -> str:
        key = (event.stage, event.target)
        if self._said.get(key) == event.sentence:
            return ""
        self._said[key] = event.sentence
        return f"{_place(event)} {markup.escape(event.sentence)}"


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
        return Live(messages, inputs.SystemClock())
    return Lines(messages)
