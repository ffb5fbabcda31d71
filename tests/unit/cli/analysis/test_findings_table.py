"""Tables, sparklines and sentences of what analyses found."""

from typing import Any

import pytest

from volary.cli import sparklines
from volary.cli.analysis import findings_table


def time(number: int) -> str:
    return f"2026-01-01T12:{number:02}:00+00:00"


def measurement(number: int, value: object, *, target: str = "us", **more: Any) -> dict[str, Any]:
    """A finding as the API gives it."""
    document = {
        "time": time(number),
        "query": "q",
        "variant": "canary",
        "role": "judged",
        "values": [] if value is None else [value],
        "totals": [],
        "message": "" if value is not None else "prom has no data",
        "result": "pass",
        **more.pop("document", {}),
    }
    return {
        "stage": "3-ANALYSIS",
        "target": target,
        "metric": "errors",
        "attempt": 1,
        "kind": "measurement",
        "number": number,
        "document": document,
        **more,
    }


def verdict(result: str, sentence: str, *, target: str = "us", **document: Any) -> dict[str, Any]:
    found = measurement(0, 0, target=target)
    return {
        **found,
        "kind": "verdict",
        "document": {"result": result, "sentence": sentence, "dryRun": False, **document},
    }


def test_what_was_counted_before_the_analysis_is_no_row() -> None:
    judged = findings_table.read(
        [
            measurement(1, 0.2),
            measurement(1, 9, document={"variant": "primary", "role": "budget"}),
        ]
    )

    assert [*judged[0].lines] == ["canary"]


def test_three_sides_and_the_weeks_before_have_rows_of_their_own() -> None:
    sides = [
        {"variant": "canary"},
        {"variant": "baseline", "role": "reference"},
        {"variant": "primary", "role": "control"},
        {"variant": "7 days before", "role": "history", "values": [1, 2, 9]},
    ]
    judged = findings_table.read(
        [measurement(1, 0.2, document=side) for side in sides]
        + [measurement(2, 0.4, document=side) for side in sides[:3]]
    )
    lines = findings_table.table(judged)

    assert [line.split()[-4:-1] for line in lines[2:4]] == [
        ["baseline", "2", "0.4"],
        ["primary", "2", "0.4"],
    ]
    assert "7 days before  1" in lines[4]
    assert " 2 " in lines[4]


def test_a_week_that_nobody_knows_of_is_named() -> None:
    week = {"variant": "7 days before", "role": "history"}
    judged = findings_table.read([measurement(1, 0.2), measurement(1, None, document=week)])

    assert findings_table.sentences(judged) == [
        "not answered: errors, 7 days before, on us: prom has no data"
    ]


def score(number: int, value: float, *points: float, **document: Any) -> dict[str, Any]:
    """A verdict on a score of two groups, worth 70 and 30."""
    parts = [
        {"group": group, "points": reached, "worth": worth}
        for group, reached, worth in zip(("errors", "minor"), points, (70.0, 30.0), strict=True)
    ]
    found = verdict(
        "pass",
        f"score on us: {value:g} of 100",
        time=time(number),
        numbers={"value": value},
        score={"pass": 60.0, "marginal": 40.0, "parts": parts},
        **document,
    )
    return {**found, "metric": "score"}


def test_a_score_is_drawn_over_the_looks_with_its_bounds_and_the_parts_of_its_groups() -> None:
    """It is told only when it changes, and by each metric of a look."""
    judged = findings_table.read([
        *(measurement(number, 0.2) for number in range(1, 7)),
        verdict("fail", "errors on us: too many", isFinal=True, isScored=True),
        score(2, 100.0, 70.0, 30.0),
        score(4, 100.0, 70.0, 30.0),
        score(4, 70.0, 70.0, 0.0),
        score(6, 70.0, 70.0, 0.0, isFinal=True),
    ])  # fmt: skip

    table = findings_table.table(judged)
    head, errors, *rows = (line.split() for line in table)
    assert head[:4] == ["METRIC", "CLUSTER", "VARIANT", "LOOKS"]
    assert errors[-3:-1] == ["fail", "(scored)"]
    assert [" ".join(row) for row in rows] == [
        "score us passes from 60, marginal from 40 5 70 of 100 pass ██▆▆▆",
        "errors 5 70 of 70 █████",
        "minor 5 0 of 30 ██▁▁▁",
    ]
    assert findings_table.sentences(judged) == [
        "pass: score on us: 70 of 100",
        "fail (scored): errors on us: too many",
    ]


def test_a_score_of_nothing_has_bounds_alone() -> None:
    bounds = {"pass": 60.0, "marginal": None, "parts": []}
    judged = findings_table.read(
        [
            {
                **verdict("pass", "score on us: nothing", time=time(1), numbers={}, score=bounds),
                "metric": "score",
            }
        ]
    )

    [_, row] = findings_table.table(judged)
    assert " ".join(row.split()) == "score us passes from 60 1 - of 100 pass so far ·"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([], ""),
        ([1.0, 1.0], "▁▁"),
        ([0.0, 0.5, 1.0], "▁▅█"),
        ([0.0, None, 1.0], "▁·█"),
        ([None, None], "··"),
        ([float(number) for number in range(100)], "▁▁▁▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▇▇▇███"[-32:]),
    ],
)
def test_sparklines(values: list[float | None], shown: str) -> None:
    made = sparklines.draw(values)

    assert len(made) == len(shown)
    if len(values) < 10:
        assert made == shown


def test_a_table_has_a_row_for_each_side_and_the_verdict_once() -> None:
    findings = [
        *(measurement(number, number / 10) for number in range(3)),
        measurement(3, 0.9, document={"result": "fail"}),
        measurement(1, 0.2, document={"variant": "baseline", "result": None}),
        verdict("fail", "errors on us: bad"),
    ]
    judged = findings_table.read(findings)

    assert findings_table.table(judged) == [
        "METRIC  CLUSTER  VARIANT   LOOKS  FAILED  LAST  VERDICT",
        "errors  us       canary    4      1       0.9   fail     ▁▂▃█",
        "                 baseline  1              0.2            ▁",
    ]
    assert findings_table.sentences(judged) == ["fail: errors on us: bad"]
    assert findings_table.queries(judged) == ["errors (canary): q", "errors (baseline): q"]


def test_what_failed_comes_first_and_the_pooled_verdict_where_it_differs() -> None:
    pooled = {"result": "pass", "sentence": "errors: fine; eu differs"}
    findings = [
        verdict("pass", "errors on us: fine", pooled=pooled, isFinal=True),
        verdict("pass", "errors on test: fine", target="test", pooled=pooled),
        verdict("fail", "errors on eu: bad", target="eu", pooled=pooled),
        measurement(1, None, target="asia"),
    ]

    assert findings_table.sentences(findings_table.read(findings)) == [
        "fail: errors on eu: bad",
        "pass so far: errors on test: fine",
        "pass: errors on us: fine",
        "pooled: errors: fine; eu differs",
        "not answered: errors on asia: prom has no data",
    ]


def test_of_an_attempt_that_was_tried_again_only_the_newest_is_shown() -> None:
    findings = [measurement(1, 0.1), measurement(2, 0.9, attempt=2), measurement(3, 0.8, attempt=2)]
    [judged] = findings_table.read(findings)

    assert judged.lines["canary"].values == [0.9, 0.8]


def test_proportions_are_shown_as_shares_and_odd_numbers_as_none() -> None:
    findings = [
        measurement(1, 5.0, document={"totals": [100.0]}),
        measurement(2, 0.0, document={"totals": [0.0]}),
        measurement(3, "NaN"),
    ]
    [judged] = findings_table.read(findings)

    assert judged.lines["canary"].values == [0.05, None, None]
