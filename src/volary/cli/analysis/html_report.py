"""What a run's analyses found as one HTML file, which needs nothing else. Pure.

There is no script, no style and no picture from elsewhere, and a policy in the file forbids
them. Everything that is not written here is escaped: names, labels, queries and sentences are
of others.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from volary.cli.analysis import svg_charts
from volary.cli.analysis.svg_charts import text
from volary.model import json, phrases

#: Of a verdict's numbers those that are shown, with what they are called.
_NUMBERS = {
    "samples": "samples",
    "reference_samples": "of the other side",
    "value": "value",
    "reference": "other side",
    "effect": "effect",
    "effect_low": "from",
    "effect_high": "to",
    "p_value": "p",
    "detectable": "would have been found",
    "looks": "looks",
}
#: Of these none is nothing that is told.
_COUNTS = frozenset({"samples", "reference_samples", "looks"})
#: Results as the API has them, with how they are said; others are shown as they are.
_RESULTS = {
    "success": "pass",
    "failure": "fail",
    "inconclusive": "inconclusive",
    "running": "pass so far",
}
_FAILED = "failure"
#: The unit of a score.
_POINTS = "points"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --s0: #c2410c; --s1: #2563eb; --s2: #15803d;
  --s3: #7c3aed; --s4: #be185d; --s5: #57534e; }
@media (prefers-color-scheme: dark) { :root { --s0: #fb923c; --s1: #60a5fa; --s2: #4ade80;
  --s3: #a78bfa; --s4: #f472b6; --s5: #a8a29e; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left;
  vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
code { overflow-wrap: anywhere; white-space: pre-wrap; }
.wide { overflow-x: auto; }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); }
figure { margin: 0; } figcaption { font-size: .85rem; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: currentColor; }
svg .end { text-anchor: end; } .axis { stroke: var(--line); fill: none; }
.bound { stroke: #dc2626; stroke-dasharray: 4 3; fill: none; } .bound.soft { stroke: #d97706; }
svg .said { font-size: 10px; opacity: .8; }
.side { fill: none; stroke-width: 1.5; }
.side.s0 { stroke: var(--s0); } .side.s1 { stroke: var(--s1); } .side.s2 { stroke: var(--s2); }
.side.s3 { stroke: var(--s3); } .side.s4 { stroke: var(--s4); } .side.s5 { stroke: var(--s5); }
circle.s0, b.s0 { fill: var(--s0); color: var(--s0); }
circle.s1, b.s1 { fill: var(--s1); color: var(--s1); }
circle.s2, b.s2 { fill: var(--s2); color: var(--s2); }
circle.s3, b.s3 { fill: var(--s3); color: var(--s3); }
circle.s4, b.s4 { fill: var(--s4); color: var(--s4); }
circle.s5, b.s5 { fill: var(--s5); color: var(--s5); }
.failure { color: #dc2626; font-weight: 600; } .success { color: #15803d; font-weight: 600; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(run: json.JsonObject, analysis: json.JsonObject, *, metric: str = "") -> str:
    """Return the file.

    Args:
        run: Summary of the run, as the API gives it.
        analysis: What it measured, as the API gives it.
        metric: This one only; empty: every one.
    """
    metrics = [each for each in analysis["metrics"] if metric in ("", each["metric"])]
    title = f"{run['application']} {run['id']}: {run['status']}"
    return "".join([
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body>",
        *_head(run, analysis, title),
        *_stages(metrics),
        *_omitted(analysis),
        "</body></html>\n",
    ])  # fmt: skip


def _head(run: json.JsonObject, analysis: json.JsonObject, title: str) -> Iterator[str]:
    yield f"<h1>{text(title)}</h1>"
    sentences = (run.get("reason"), run.get("subject"), analysis.get("sentence"))
    yield from (f"<p>{text(sentence)}</p>" for sentence in sentences if sentence)
    times = [
        f"{word} {_moment(run[key]):%Y-%m-%d %H:%M:%S} UTC"
        for key, word in (("started", "started"), ("finished", "finished"))
        if run.get(key)
    ]
    commit = [f"commit {run['commit'][:12]}"] if run.get("commit") else []
    yield f"<p>{text(', '.join([*commit, *times]))}</p>"


def _stages(metrics: Iterable[json.JsonObject]) -> Iterator[str]:
    is_empty = True
    for stage, of_stage in itertools.groupby(metrics, key=lambda metric: str(metric["stage"])):
        is_empty = False
        yield f"<h2>{text(stage)}</h2>"
        for metric in of_stage:
            yield from _metric(metric)
    if is_empty:
        yield "<p>Nothing was measured.</p>"


def _omitted(analysis: json.JsonObject) -> Iterator[str]:
    if count := analysis.get("metricsOmitted"):
        yield f"<p>Not shown: {phrases.count(int(count), 'further metric')}.</p>"
    if count := analysis.get("omitted"):
        yield f"<p>Not shown: {phrases.count(int(count), 'older finding')}.</p>"


def _metric(metric: json.JsonObject) -> Iterator[str]:
    yield f"<section><h3>{text(metric['metric'])}</h3>"
    strategy = [metric["strategy"]] if metric["strategy"] else []
    facts = [*strategy, *_bounds_in_words(metric)]
    if metric["outlier"]:
        facts.append(f"{metric['outlier']} differs from the other clusters")
    if facts:
        yield f"<p>{text('; '.join(facts))}</p>"
    if metric["query"]:
        yield f"<p><code>{text(metric['query'])}</code></p>"
    yield from _verdicts(metric["verdicts"])
    yield '<div class="charts">'
    clusters = itertools.groupby(metric["series"], key=lambda series: str(series["cluster"]))
    for cluster, series in clusters:
        yield from _chart(metric, cluster, list(series))
    yield "</div></section>"


# Verdicts.


def _verdicts(verdicts: Sequence[json.JsonObject]) -> Iterator[str]:
    """Return the newest verdict of each cluster, and those before it to be unfolded."""
    newest: dict[str, json.JsonObject] = {}
    earlier: list[json.JsonObject] = []
    for verdict in verdicts:
        if newest.setdefault(str(verdict["cluster"]), verdict) is not verdict:
            earlier.append(verdict)
    if newest:
        failed_first = sorted(newest.values(), key=lambda verdict: verdict["result"] != _FAILED)
        yield from _table(failed_first)
    if earlier:
        yield f"<details><summary>{phrases.count(len(earlier), 'earlier verdict')}</summary>"
        yield from _table(earlier)
        yield "</details>"


def _table(verdicts: Sequence[json.JsonObject]) -> Iterator[str]:
    shown = [
        key
        for key in _NUMBERS
        if any(_is_told(key, _numbers(verdict).get(key)) for verdict in verdicts)
    ]
    yield '<div class="wide"><table><thead><tr>'
    heads = ["cluster", "verdict", "at", "why", *(_NUMBERS[key] for key in shown)]
    yield "".join(f"<th>{head}</th>" for head in heads)
    yield "</tr></thead><tbody>"
    for verdict in verdicts:
        result = str(verdict["result"])
        kind = f' class="{result}"' if result in _RESULTS else ""
        yield f"<tr><td>{text(verdict['cluster'] or 'all together')}</td>"
        yield f"<td{kind}>{text(_RESULTS.get(result, result))}</td>"
        yield f"<td>{_moment(verdict['at']):%H:%M:%S}</td><td>{text(verdict['sentence'])}</td>"
        for key in shown:
            yield f'<td class="number">{text(_figure(_numbers(verdict).get(key)))}</td>'
        yield "</tr>"
    yield "</tbody></table></div>"


def _is_told(key: str, value: object) -> bool:
    """Say whether a number says something: a verdict on a score rests on no samples of its own."""
    return value is not None and not (key in _COUNTS and value == 0)


def _numbers(verdict: json.JsonObject) -> Mapping[str, object]:
    numbers = verdict["numbers"]
    return numbers if isinstance(numbers, dict) else {}


def _figure(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# Charts.


def _chart(
    metric: json.JsonObject, cluster: str, series: Sequence[json.JsonObject]
) -> Iterator[str]:
    lines = [
        svg_charts.Line(
            str(side["variant"]),
            [(_moment(sample["at"]), sample["value"]) for sample in side["samples"]],
        )
        for side in series
    ]
    bounds = list(_bounds(metric))
    title = f"{metric['metric']} on {cluster}"
    drawn = svg_charts.draw(title, lines, bounds, _writer(str(metric["unit"])))
    yield f"<figure>{drawn}<figcaption>{text(cluster)}:"
    for number, side in enumerate(series):
        place = min(number, svg_charts.SIDES - 1)
        yield f' <b class="s{place}">{text(side["variant"])}</b> {text(_of_side(side))}'
    yield f"{'' if drawn else ', without a number'}</figcaption></figure>"


def _of_side(side: json.JsonObject) -> str:
    """Say how much was measured of a side; of a score how many of its points there are."""
    thinned = f", {int(side['thinned'])} more not drawn" if side["thinned"] else ""
    if side["worth"] is not None:
        last = side["samples"][-1]["value"] if side["samples"] else None
        return f"{'–' if last is None else _point(last)} of {_point(side['worth'])}{thinned}"
    return f"({len(side['samples'])} measurements{thinned})"


def _bounds(metric: json.JsonObject) -> Iterator[svg_charts.Bound]:
    bounds, is_score = metric["bounds"], metric["unit"] == _POINTS
    for key, name in (
        ("least", "passes from" if is_score else "at least"),
        ("most", "at most"),
        ("marginal", "marginal from"),
    ):
        if bounds[key] is not None:
            yield svg_charts.Bound(name, float(bounds[key]), is_soft=key == "marginal")


def _bounds_in_words(metric: json.JsonObject) -> Iterator[str]:
    write = _writer(str(metric["unit"]))
    yield from (f"{bound.name} {write(bound.value)}" for bound in _bounds(metric))


def _point(value: float) -> str:
    return f"{value:.4g}"


def _writer(unit: str) -> Callable[[float], str]:
    """Return what writes a value of this unit, as the API names units."""
    factor, suffix = {
        "ratio": (100, " %"),
        "percent": (1, " %"),
        "perSecond": (1, "/s"),
        "milliseconds": (1, " ms"),
    }.get(unit, (1, ""))
    return lambda value: f"{factor * value:.4g}{suffix}"


def _moment(at: object) -> datetime:
    return datetime.fromisoformat(str(at))
