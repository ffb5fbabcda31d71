"""The overview in the terminal: what needs you, what runs, and what runs where."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime

from rich import console as rich_console
from rich import live, text

from volary.cli import console, durations, exit_codes, forms
from volary.cli.remote import client, output
from volary.concurrency import background_tasks
from volary.controller import system_clock
from volary.model import errors, json, safe_text

#: Kind of attention → its sign and colour; the sign and the word carry the meaning.
_SIGNS = {
    "held": ("✗", "red"),
    "approval": ("…", "yellow"),
    "failed": ("✗", "red"),
    "clusterUnreachable": ("?", "red"),
    "rolledBack": ("↶", "yellow"),
    "refusedCommit": ("✗", "red"),
    "broken": ("✗", "red"),
    "clusterNotReady": ("?", "yellow"),
    "outOfSync": ("≠", "yellow"),
    "paused": ("⊘", "yellow"),
}
_WORDS = {
    "rolledBack": "rolled back",
    "refusedCommit": "commit refused",
    "outOfSync": "out of sync",
    "clusterUnreachable": "unreachable",
    "clusterNotReady": "not ready",
}
_BAR = 8
#: Characters of a commit.
_SHORT = 7
#: Seconds: what changed is shown so soon, and looked for so late when nothing is heard of.
_SOONEST, _LATEST = 0.5, 5.0
#: Lines of attention, and of runs, on a screen.
_MOST_SHOWN = 8
#: Lines of a screen for everything but these and applications: the sentence, heads, what is left
#: out, empty lines, the time, and one for the cursor.
_FIXED = 13


async def show(
    server: client.Client, form: forms.Form, *, watch: bool = False, most: int = 100
) -> int:
    """Show the overview once, or as it changes until it is interrupted.

    Args:
        server: The server.
        form: Of the result; JSON while it changes is a line for each change.
        watch: Whether to go on.
        most: Applications at most.
    """
    if watch:
        return await _watch(server, form, most)
    shown = await _read(server, most)
    return output.answer(
        shown, form, lambda: console.write_lines(lines(shown, _now(), wide=form is forms.Form.WIDE))
    )


async def _read(server: client.Client, most: int) -> json.JsonObject:
    head = await server.get("overview")
    return {**head, "rows": await server.pages("overview", "applications", most=most)}


def _now() -> datetime:
    return system_clock.SystemClock().now()


async def _watch(server: client.Client, form: forms.Form, most: int) -> int:
    messages, happened = console.messages(), asyncio.Event()
    changes = _changes(server, most, happened)
    async with background_tasks.in_background(_listen(server, happened)):
        if form is forms.Form.JSON:
            async for shown in changes:
                console.write_json(shown)
        elif messages.is_terminal and not messages.is_dumb_terminal:
            with live.Live(console=messages, auto_refresh=False) as screen:
                async for shown in changes:
                    screen.update(draw(shown, _now(), *messages.size), refresh=True)
        else:
            async for shown in changes:
                console.write_lines(lines(shown, _now(), wide=form is forms.Form.WIDE))
                console.write_text("")
    return exit_codes.Exit.DONE


async def _changes(
    server: client.Client, most: int, happened: asyncio.Event
) -> AsyncIterator[json.JsonObject]:
    """Yield the overview whenever it is another one, for ever.

    Events of runs say when to look; what has none, such as a cluster, is looked for all the same.
    """
    last = None
    while True:
        happened.clear()
        shown = await _read(server, most)
        same = {**shown, "at": ""}
        if same != last:
            last = same
            yield shown
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATEST):
                await happened.wait()
        await asyncio.sleep(_SOONEST)


async def _listen(server: client.Client, happened: asyncio.Event) -> None:
    # Without it, it is looked at less often: nothing to end for.
    with contextlib.suppress(errors.VolaryError):
        async for _ in server.stream("events", "stream"):
            happened.set()


def lines(shown: json.JsonObject, now: datetime, *, wide: bool = False) -> Iterator[str]:
    """Yield the overview as lines of text; wide: also what to type about each."""
    yield shown["sentence"]
    if shown["attention"]:
        yield ""
        yield from _aligned(_attention(shown, now, wide=wide))
    if shown["running"]:
        yield ""
        yield from _aligned(_running(shown))
    if shown["rows"]:
        yield ""
        yield from _aligned(_applications(shown, now))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, whatever is in its cells."""
    return console.aligned([[safe_text.one_line(cell) for cell in row] for row in rows])


def _attention(shown: json.JsonObject, now: datetime, *, wide: bool) -> list[list[str]]:
    rows = [["NEEDS YOU", "WHAT", "FOR", "WHY", *(["TYPE"] if wide else [])]]
    for one in shown["attention"]:
        rows.append(
            [
                one["application"] or ", ".join(one["clusters"]),
                _what(one),
                durations.age(one["since"], now) if one["since"] else "-",
                one["sentence"],
                *([one["command"]] if wide else []),
            ]
        )
    if shown["attentionOmitted"]:
        rows.append([f"and {shown['attentionOmitted']} more", *[""] * (len(rows[0]) - 1)])
    return rows


def _what(one: json.JsonObject) -> str:
    """Return the sign and the word of something that needs a person."""
    sign, _ = _SIGNS.get(one["kind"], ("!", ""))
    return f"{sign} {_WORDS.get(one['kind'], one['kind'])}"


def _running(shown: json.JsonObject) -> list[list[str]]:
    rows = [["RUNNING", "COMMIT", "STAGES", "CLUSTERS", "CANARY", "NOW"]]
    for run in shown["running"]:
        failed = f", {run['clustersFailed']} failed" if run["clustersFailed"] else ""
        weight = run["canaryWeight"]
        rows.append(
            [
                run["application"],
                run["commit"][:_SHORT],
                f"{_bar(run)} {run['stagesDone']}/{run['stagesTotal']}",
                f"{run['clustersDone']}/{run['clustersTotal']}{failed}",
                "-" if weight is None else f"{weight} %",
                run["sentence"],
            ]
        )
    if shown["runningOmitted"]:
        rows.append([f"and {shown['runningOmitted']} more", *[""] * (len(rows[0]) - 1)])
    return rows


def _bar(run: json.JsonObject) -> str:
    total = run["stagesTotal"]
    done = round(_BAR * run["stagesDone"] / total) if total else 0
    return "▮" * done + "▯" * (_BAR - done)


def _applications(shown: json.JsonObject, now: datetime) -> list[list[str]]:
    places: list[str] = shown["places"]
    rows = [["APPLICATION", "STATUS", *places, "RELEASED"]]
    for row in shown["rows"]:
        cells = {place["place"]: _place(place) for place in row["places"]}
        released = f"{durations.age(row['released'], now)} ago" if row["released"] else "-"
        rows.append(
            [row["name"], row["status"], *(cells.get(name, "-") for name in places), released]
        )
    if shown["applications"] > len(shown["rows"]):
        more = shown["applications"] - len(shown["rows"])
        rows.append([f"and {more} more", *[""] * (len(rows[0]) - 1)])
    return rows


def _place(place: json.JsonObject) -> str:
    """Return what runs in a place: ``a91f3c7``, ``a91f3c7 3/5 +1``, with a sign of trouble."""
    if not place["commits"]:
        return "nothing"
    parts = [place["commits"][0][:_SHORT]]
    if len(place["commits"]) > 1:
        parts += [f"{place['current']}/{place['clusters']}", f"+{len(place['commits']) - 1}"]
    if place["health"] in ("degraded", "missing"):
        parts.append("✗")
    if place["drift"] == "outOfSync":
        parts.append("≠")
    return " ".join(parts)


def draw(shown: json.JsonObject, now: datetime, width: int, height: int) -> rich_console.Group:
    """Return the screen for a terminal of that size: what does not fit is counted."""
    room = max(height - _FIXED, 3)
    most = min(_MOST_SHOWN, max(room // 3, 1))
    attention, running = shown["attention"][:most], shown["running"][:most]
    cut = {
        **shown,
        "attention": attention,
        "attentionOmitted": shown["attentionOmitted"] + len(shown["attention"]) - len(attention),
        "running": running,
        "runningOmitted": shown["runningOmitted"] + len(shown["running"]) - len(running),
        "rows": shown["rows"][: room - len(attention) - len(running)],
    }
    colours = [_SIGNS.get(one["kind"], ("", ""))[1] for one in attention]
    parts = [_line(shown["sentence"], "bold", width), text.Text()]
    if attention:
        parts += _block(_attention(cut, now, wide=False), width, colours)
    if running:
        parts += _block(_running(cut), width)
    parts += _block(_applications(cut, now), width)
    stamp = f"as of {shown['at'][11:19]}Z; Ctrl-C ends"
    return rich_console.Group(*parts[:-1], text.Text(), _line(stamp, "dim", width))


def _block(
    rows: Sequence[Sequence[str]], width: int, colours: Sequence[str] = ()
) -> list[text.Text]:
    styles = ["bold", *colours]
    written = [
        _line(line, styles[place] if place < len(styles) else "", width)
        for place, line in enumerate(_aligned(rows))
    ]
    return [*written, text.Text()]


def _line(line: str, style: str, width: int) -> text.Text:
    """Return one line of the screen, without what steers terminals, cut where it is too long."""
    shown = text.Text(console.without_secrets(safe_text.one_line(line)), style=style)
    shown.truncate(width, overflow="ellipsis")
    return shown
