"""The report of a run: what it shows, and that nobody's words become markup."""

import math
from datetime import UTC, datetime, timedelta
from html import parser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.cli.analysis import html_report, svg_charts

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
ATTACKS = (
    "</title></style></code><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "<!-- ]]> &lt;b&gt; &amp;",
    "javascript:alert(1)",
    "\x1b[31m\u202e\ud800",
)


def at(number: int) -> str:
    return (START + timedelta(minutes=number)).isoformat()


def series(cluster: str, variant: str, values: list[float | None]) -> dict[str, Any]:
    samples = [{"at": at(i), "value": value, "count": 100.0} for i, value in enumerate(values)]
    return {
        "cluster": cluster,
        "variant": variant,
        "samples": samples,
        "thinned": 0,
        "worth": None,
    }


def report(word: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What the API says of a run, every text of which ends with a word."""
    run = {
        "id": f"run-1{word}",
        "application": f"shop{word}",
        "status": f"rolled_back{word}",
        "reason": f"ANALYSIS failed: eu{word}",
        "subject": f"Release v2{word}",
        "commit": "0123456789abcdef",
        "started": at(0),
        "finished": None,
    }
    verdict = {
        "at": at(2),
        "cluster": f"eu{word}",
        "result": "failure",
        "sentence": f"errors on eu: 5 % of 1 % allowed{word}",
        "numbers": {"samples": 300, "value": 0.05, "p_value": 0.004, "looks": 3},
    }
    before = {**verdict, "at": at(1), "result": f"odd{word}", "numbers": {"looks": word}}
    metric = {
        "stage": f"3-ANALYSIS{word}",
        "metric": f"errors{word}",
        "query": f"sum(errors){word}",
        "unit": "ratio",
        "bounds": {"least": None, "most": 0.01, "marginal": None},
        "series": [
            series(f"eu{word}", f"canary{word}", [0.01, None, 0.05, 0.06]),
            series(f"eu{word}", f"primary{word}", [0.01, 0.01, 0.01, 0.01]),
            series(f"us{word}", f"canary{word}", [None, None]),
        ],
        "verdicts": [verdict, {**verdict, "cluster": "", "result": "running"}, before],
        "outlier": f"eu{word}",
        "strategy": f"CANARY_PRIMARY{word}",
    }
    return run, {
        "sentence": f"failed: errors{word}",
        "metrics": [metric],
        "omitted": 7,
        "metricsOmitted": 2,
    }


class Reader(parser.HTMLParser):
    """Reads a page as a browser does: its elements with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(f"{name}={value}" for name, value in attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.elements.append(("declaration", decl))


def test_it_shows_both_sides_the_bounds_the_sentences_and_the_numbers() -> None:
    page = html_report.page(*report())
    shown = " ".join(Reader(page).texts)

    for said in (
        "shop run-1: rolled_back",
        "ANALYSIS failed: eu",
        "failed: errors",
        "CANARY_PRIMARY; at most 1 %; eu differs from the other clusters",
        "sum(errors)",
        "errors on eu: 5 % of 1 % allowed",
        "canary at 12:03:00: 6 %",
        "primary at 12:00:00: 1 %",
        "all together",
        "pass so far",
        "0.004",
        "Not shown: 2 further metrics",
        "Not shown: 7 older findings",
        "1 earlier verdict",
    ):
        assert said in shown, said
    assert page.count("<svg ") == 1, "us has no number"
    assert "without a number" in shown


def test_a_gap_in_what_was_measured_is_one_in_the_line() -> None:
    paths = [
        element for element in Reader(html_report.page(*report())).elements
        if element[:2] == ("path", "class=side s0")
    ]  # fmt: skip

    assert len(paths) == 2


def test_it_needs_nothing_and_runs_nothing() -> None:
    page = html_report.page(*report())
    elements = Reader(page).elements

    assert {element[0] for element in elements}.isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "form", "base", "a", "use", "image"}
    )
    assert not [word for element in elements for word in element[1:] if word.startswith("on")]
    for word in ("http://", "https://", "url(", "@import", "src="):
        assert word not in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page


def structure(word: str) -> list[tuple[str, ...]]:
    return Reader(html_report.page(*report(word))).elements


@pytest.mark.parametrize("attack", ATTACKS)
def test_words_of_others_are_text_and_nothing_else(attack: str) -> None:
    assert structure(attack) == structure("")
    if attack.isprintable():
        texts = "".join(Reader(html_report.page(*report(attack))).texts)
        # The reader joins what a browser shows: names, query, sentences, labels of a drawing.
        for said in ("shop", "eu", "canary", "sum(errors)", "failed: errors", "5 % of 1 % allowed"):
            assert said + attack in texts


PIECES = (
    "<",
    ">",
    "</",
    "&",
    "#60;",
    "'",
    '"',
    "/",
    "=",
    "!--",
    "]]",
    "script",
    "b",
    " ",
    ";",
    "\0",
)


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_at_all_changes_what_the_page_is_made_of(word: str) -> None:
    assert structure(word) == structure("")


def test_a_file_is_always_utf_8() -> None:
    html_report.page(*report("\ud800")).encode("utf-8")


def test_a_metric_without_measurements_has_its_sentence_alone() -> None:
    run, analysis = report()
    analysis["metrics"][0] |= {"metric": "score", "series": [], "query": "", "outlier": ""}
    page = html_report.page(run, analysis, metric="score")

    assert "errors on eu: 5 % of 1 % allowed" in page
    assert "<svg" not in page
    assert "Nothing was measured" in html_report.page(run, analysis, metric="other")


def test_a_score_has_its_picture_with_both_bounds_and_the_parts_of_its_groups() -> None:
    run, analysis = report()
    parts = {"score": (100.0, [100, 70]), "errors": (70.0, [70, 70]), "minor": (30.0, [30, 0])}
    analysis["metrics"] = [
        {
            **analysis["metrics"][0],
            "metric": "score",
            "unit": "points",
            "bounds": {"least": 80.0, "most": None, "marginal": 60.0},
            "series": [
                {**series("us", name, values), "worth": worth}
                for name, (worth, values) in parts.items()
            ],
        }
    ]
    page = html_report.page(run, analysis)
    shown = " ".join(" ".join(Reader(page).texts).split())

    for said in (
        "passes from 80; marginal from 60",
        "us: score 70 of 100 errors 70 of 70 minor 0 of 30",
        "score at 12:01:00: 70",
        "minor at 12:00:00: 30",
    ):
        assert said in shown, said
    drawn = [element for element in Reader(page).elements if element[0] == "path"]
    kinds = [element[1].partition("=")[2] for element in drawn if "axis" not in element[1]]
    assert kinds == ["bound", "bound soft", "side s0", "side s1", "side s2"]


@given(
    st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), max_size=6),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=2),
)
def test_any_numbers_are_drawn_inside_of_the_drawing(
    values: list[float | None], limits: list[float]
) -> None:
    line = svg_charts.Line("canary", [(START + i * timedelta(1), v) for i, v in enumerate(values)])
    bounds = [svg_charts.Bound("at most", limit) for limit in limits]
    drawn = svg_charts.draw("title", [line], bounds, "{:g}".format)
    places = [
        float(word.partition("=")[2])
        for element in Reader(drawn).elements
        if element[0] == "circle"
        for word in element
        if word.startswith(("cx=", "cy="))
    ]

    assert all(math.isfinite(place) and 0 <= place <= 420 for place in places)
    known = [value for value in values if value is not None and abs(value) < 1e300]
    assert len(places) == 2 * len(known)
