"""Figures, comparisons and the calendar as text."""

from pathlib import Path

import pytest

import server_world
from volary.cli import forms
from volary.cli.remote import client, insights, login
from volary.model import errors, json

FIGURE = {"definition": "so it is counted", "omitted": 0, "points": [], "median": None}
FIGURES: json.JsonObject = {
    "since": "2026-01-01T00:00:00Z",
    "until": "2026-01-03T12:00:00Z",
    "runs": 3,
    "days": [0, 2, 1],
    "omitted": 4,
    "figures": [
        {**FIGURE, "name": "deploymentFrequency", "unit": "perDay", "value": 1.0, "high": 2.0},
        {
            **FIGURE,
            "name": "leadTime",
            "unit": "seconds",
            "value": 90.4,
            "median": 60.0,
            "high": 0.0,
            "points": [{}, {}],
            "omitted": 5,
        },
        {**FIGURE, "name": "changeFailureRate", "unit": "ratio", "value": 0.125, "high": None},
        {**FIGURE, "name": "timeToRestore", "unit": "seconds", "value": None, "high": None},
    ],
}


def test_figures_are_a_table_with_their_definitions_below() -> None:
    lines = list(insights.lines(FIGURES))

    assert lines[:3] == [
        "3 runs ended in 3 days (2026-01-01 to 2026-01-03, UTC)",
        "releases a day: ▁█▅",
        "4 older runs not counted: too many",
    ]
    assert [line.split("  ")[0] for line in lines[4:8]] == [
        "deployment frequency",
        "lead time",
        "change failure rate",
        "time to restore",
    ]
    assert lines[5].split() == ["lead", "time", "1m30s", "1m", "0s", "7"]
    assert lines[6].split()[3:] == ["12.5", "%", "-", "-", "0"]
    assert lines[7].split()[3:] == ["-", "-", "-", "0"]
    assert lines[-1] == "time to restore: so it is counted"


def test_the_calendar_says_when_where_and_of_whom_nothing_is_known() -> None:
    window = {
        "application": "web",
        "wave": "",
        "clusters": [],
        "starts": "2026-11-20T22:00:00Z",
        "ends": "2026-11-21T06:00:00Z",
        "reason": "denied by night",
    }
    calendar = {
        "items": [window, {**window, "wave": "first", "clusters": ["us"], "ends": None}],
        "omitted": 1,
        "unread": [{"application": "pay", "reason": "it is broken"}],
        "pending": 2,
    }
    _, first, second, *rest = insights.calendar_lines(calendar)

    assert first == (
        "Fri 2026-11-20 22:00Z  Sat 2026-11-21 06:00Z  web          all         denied by night"
    )
    assert "later" in second
    assert "wave first" in second
    assert rest == [
        "1 later window not shown",
        "not known: pay: it is broken",
        "not read yet: 2 applications; ask again",
    ]
    nothing = {"items": [], "omitted": 0, "unread": [], "pending": 0}
    assert list(insights.calendar_lines(nothing)) == ["nothing is closed"]


async def test_a_run_is_compared_with_the_one_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        world.clock.forward(seconds=60)
        await world.keep_run("run-next", "web")
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")
        async with client.Client.open(login.Target(world.url, token)) as server:
            await insights.compare(server, "run-next", "", forms.Form.TEXT)
            text = capsys.readouterr().out
            with pytest.raises(errors.UserError, match="web has no run before run-web") as refused:
                await insights.compare(server, "run-web", "", forms.Form.TEXT)
            await insights.show(server, "", "web", 7, forms.Form.TEXT)
            figures = capsys.readouterr().out
            await insights.show_calendar(server, "", 7, forms.Form.TEXT)
            calendar = capsys.readouterr().out

    assert text.splitlines()[:2] == [
        "web: run run-next beside run-web",
        "- both are of commit c0ffee",
    ]
    assert refused.value.problems[0].hint == (
        "name another one; volary get runs --app web lists them"
    )
    assert "2 runs ended in 7 days" in figures
    assert calendar.splitlines()[-1] == "nothing is closed"
