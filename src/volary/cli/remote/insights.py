"""Runs as figures: how delivery goes, what differs between two runs, and when nothing begins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from volary.cli import console, forms, sparklines
from volary.cli.remote import client, output
from volary.model import errors, json, phrases

#: How figures are called, in the order in which they are shown.
_NAMES = {
    "deploymentFrequency": "deployment frequency",
    "leadTime": "lead time",
    "changeFailureRate": "change failure rate",
    "timeToRestore": "time to restore",
}
#: Days that a line of bars shows.
_DAYS = 60


async def show(
    server: client.Client, project: str, application: str, days: int, form: forms.Form
) -> int:
    """Show the figures of delivery with their definitions."""
    figures = await server.get("insights", project=project, application=application, days=days)
    return output.answer(figures, form, lambda: console.write_lines(lines(figures)))


def lines(insights: json.JsonObject) -> Iterator[str]:
    """Yield the figures as a table, and below it how each is counted."""
    days = insights["days"]
    yield (
        f"{phrases.count(insights['runs'], 'run')} ended in {phrases.count(len(days), 'day')}"
        f" ({insights['since'][:10]} to {insights['until'][:10]}, UTC)"
    )
    yield f"releases a day: {sparklines.draw(days, _DAYS)}"
    if insights["omitted"]:
        yield f"{phrases.count(insights['omitted'], 'older run')} not counted: too many"
    rows = [("FIGURE", "VALUE", "MEDIAN", "90 %", "COUNTED")]
    for figure in insights["figures"]:
        write = _WRITERS[figure["unit"]]
        numbers = (figure[name] for name in ("value", "median", "high"))
        counted = len(figure["points"]) + figure["omitted"]
        rows.append(
            (
                _NAMES.get(figure["name"], figure["name"]),
                *("-" if number is None else write(number) for number in numbers),
                str(counted),
            )
        )
    yield from console.aligned(rows)
    for figure in insights["figures"]:
        yield f"{_NAMES.get(figure['name'], figure['name'])}: {figure['definition']}"


def _duration(seconds: float) -> str:
    return phrases.duration(timedelta(seconds=round(seconds))) or "0s"


_WRITERS: Mapping[str, Callable[[float], str]] = {
    "perDay": lambda number: f"{number:.2g} a day",
    "seconds": _duration,
    "ratio": lambda number: f"{100 * number:.1f} %",
}


async def compare(server: client.Client, run: str, before: str, form: forms.Form) -> int:
    """Show what differs between a run and another one: by default the one before it.

    Raises:
        errors.UserError: There is no run before it.
    """
    other = before or await _run_before(server, run)
    comparison = await server.get("runs", run, "comparison", before=other)
    return output.answer(
        comparison, form, lambda: console.write_lines(comparison_lines(comparison))
    )


async def _run_before(server: client.Client, run: str) -> str:
    """Return the run of the same application that was made before a run."""
    summary = (await server.get("runs", run))["summary"]
    listed = await server.pages("runs", application=summary["application"])
    ids = [item["id"] for item in listed]
    place = ids.index(run) if run in ids else len(ids)
    if place + 1 >= len(ids):
        raise errors.user_error(
            f"{summary['application']} has no run before {run}",
            hint=f"name another one; volary get runs --app {summary['application']} lists them",
        )
    return str(ids[place + 1])


def comparison_lines(comparison: json.JsonObject) -> Iterator[str]:
    """Yield what differs, and the stages beside each other."""
    before, after = comparison["before"], comparison["after"]
    yield f"{after['application']}: run {after['id']} beside {before['id']}"
    yield from (f"- {sentence}" for sentence in comparison["differences"])
    rows = [("STAGE", before["id"], "TOOK", after["id"], "TOOK")]
    rows += [
        (
            stage["name"],
            stage["beforeStatus"] or "-",
            _taken(stage["beforeSeconds"]),
            stage["afterStatus"] or "-",
            _taken(stage["afterSeconds"]),
        )
        for stage in comparison["stages"]
    ]
    yield from console.aligned(rows)


def _taken(seconds: float | None) -> str:
    return "-" if seconds is None else _duration(seconds)


async def show_calendar(
    server: client.Client, application: str, days: int, form: forms.Form
) -> int:
    """Show when nothing begins where over the next days."""
    calendar = await server.get("calendar", application=application, days=days)
    return output.answer(calendar, form, lambda: console.write_lines(calendar_lines(calendar)))


def calendar_lines(calendar: json.JsonObject) -> Iterator[str]:
    """Yield the closed windows in the order they start, and of whom nothing is known."""
    if calendar["items"]:
        yield from console.aligned(_calendar_rows(calendar["items"]))
    else:
        yield "nothing is closed"
    if calendar["omitted"]:
        yield f"{phrases.count(calendar['omitted'], 'later window')} not shown"
    for unread in calendar["unread"]:
        yield f"not known: {unread['application']}: {unread['reason']}"
    if calendar["pending"]:
        files = phrases.count(calendar["pending"], "application")
        yield f"not read yet: {files}; ask again"


def _calendar_rows(items: Sequence[json.JsonObject]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("STARTS", "ENDS", "APPLICATION", "CLUSTERS", "REASON")]
    for item in items:
        wave = f"wave {item['wave']}" if item["wave"] else ""
        where = wave or phrases.join_names(item["clusters"]) or "all"
        ends = _moment(item["ends"]) if item["ends"] else "later"
        rows.append((_moment(item["starts"]), ends, item["application"], where, item["reason"]))
    return rows


def _moment(stamp: str) -> str:
    return f"{datetime.fromisoformat(stamp):%a %Y-%m-%d %H:%MZ}"
