"""An application watched on: its runs one after another, and between them its drift.

``volary watch NAME --follow``. While a run is under way nobody compares, so drift is told between
two runs. What is written is what changed, in the words of ``volary diff``.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rich import console as rich_console
from rich import live, text

from volary.cli import console
from volary.cli.remote import client, drift, queries
from volary.model import errors, json, phrases, safe_text

#: Clusters that a screen shows.
_MOST_SHOWN = 8
_OUT, _IN = drift.WORDS["outOfSync"], drift.WORDS["inSync"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an application's drift."""

    #: Why each cluster is out of sync.
    clusters: Mapping[str, str] = field(default_factory=dict)
    #: Why nothing is repaired although that is wished.
    unrepaired: str = ""
    #: A repair that is requested.
    repair: str = ""


async def follow(server: client.Client, name: str, *, as_json: bool) -> int:
    """Show an application's newest run, and then whatever becomes of it, until interrupted.

    Raises:
        errors.UserError: There is neither a run nor an application of this name.
    """
    application = await _application_of(server, name)
    known: Known | None = None
    shown = ""
    while True:
        run = (await server.get("applications", application))["run"]
        if run != shown:
            shown = run
            await queries.watch_run(server, await server.get("runs", run), as_json=as_json)
        known = await _between_runs(server, application, shown, known, as_json=as_json)


async def _application_of(server: client.Client, name: str) -> str:
    document, is_run = await queries.read_either(server, name)
    return str(document["summary"]["application"] if is_run else document["name"])


async def _between_runs(
    server: client.Client, application: str, shown: str, known: Known | None, *, as_json: bool
) -> Known | None:
    """Show what becomes of the drift until there is another run than the one shown.

    Raises:
        errors.TemporaryError: The server has ended the stream.
    """
    messages = console.messages()
    is_screen = messages.is_terminal and not messages.is_dumb_terminal and not as_json
    screen = live.Live(console=messages, auto_refresh=False, transient=True)
    with screen if is_screen else contextlib.nullcontext():
        stream = server.stream("applications", application, "drift", "stream")
        async with contextlib.aclosing(stream) as pieces:
            async for piece in pieces:
                if piece.event != "drift-changed":
                    continue
                now, is_another = read(piece.data), piece.data["run"] != shown
                # Until the end of the run that was shown has been taken in, it says nothing; with
                # the beginning of another one it may say why that is there.
                if now != known and (is_another or not piece.data["underWay"]):
                    if as_json:
                        console.write_json({"event": piece.event, **piece.data})
                    else:
                        for line in lines(known or Known(), now):
                            messages.print(line, markup=False, highlight=False)
                    known = now
                if is_another:
                    return known
                if is_screen:
                    screen.update(draw(application, now), refresh=True)
    raise errors.TemporaryError("the server ended the stream")


def read(change: json.JsonObject) -> Known:
    """Return what an event says; a server may be of any version."""
    plain = safe_text.printable
    return Known(
        {plain(one["name"]): plain(one["reason"]) for one in change["clusters"]},
        plain(change["unrepaired"]),
        plain(change["repair"]),
    )


def lines(before: Known, now: Known) -> Iterator[str]:
    """Yield a line for each thing that has changed."""
    for name, reason in now.clusters.items():
        if before.clusters.get(name) != reason:
            yield f"{name}: {_OUT}: {reason}"
    if now.repair and now.repair != before.repair:
        yield f"repair: run {now.repair}"
    if now.unrepaired and now.unrepaired != before.unrepaired:
        yield f"not repaired: {now.unrepaired}"
    for name in before.clusters:
        if name not in now.clusters:
            yield f"{name}: {_IN}"


def draw(application: str, now: Known) -> rich_console.Group:
    """Return what a terminal shows below these lines while nothing changes."""
    count = len(now.clusters)
    word = f"{_OUT} in {phrases.count(count, 'cluster')}" if count else _IN
    parts = [text.Text(f"{application}: {word}", style="bold")]
    for name, reason in list(now.clusters.items())[:_MOST_SHOWN]:
        line = text.Text("  ≠ ", style="yellow", overflow="ellipsis", no_wrap=True)
        line.append(f"{name}: {reason}")
        parts.append(line)
    if count > _MOST_SHOWN:
        parts.append(text.Text(f"  … and {count - _MOST_SHOWN} more", style="dim"))
    more = f"type volary diff {application}; " if count else ""
    parts.append(text.Text(f"{more}Ctrl-C ends", style="dim"))
    return rich_console.Group(*parts)
