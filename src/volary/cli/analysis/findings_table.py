"""What analyses found, as a table with sparklines and the sentences of the verdicts. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from volary.analysis.verdicts import scores
from volary.cli import console, sparklines
from volary.model import analysis, json

_VERDICT, _MEASUREMENT = "verdict", "measurement"


@dataclass(slots=True)
class Line:
    """One side of a metric on one cluster."""

    variant: str
    query: str = ""
    #: The middle of each look's values; None: there were none.
    values: list[float | None] = field(default_factory=list)
    failed: int = 0
    #: Why the newest look has no number.
    trouble: str = ""
    #: It is no side of the looks, but a week before them.
    is_before: bool = False
    #: Of a score, or of a group of metrics: the points that it can have. None: it is measured.
    worth: float | None = None

    @property
    def last(self) -> str:
        """The newest value as it is shown."""
        last = self.values[-1] if self.values else None
        shown = "-" if last is None else f"{last:.4g}"
        return shown if self.worth is None else f"{shown} of {self.worth:.4g}"

    @property
    def bars(self) -> str:
        """All of them as a line of bars; points are drawn between none and all there can be."""
        between = None if self.worth is None else (0.0, self.worth)
        return sparklines.draw(self.values, between=between)


@dataclass(slots=True)
class JudgedMetric:
    """A metric on one cluster in one stage."""

    stage: str
    target: str
    metric: str
    attempt: int = 0
    lines: dict[str, Line] = field(default_factory=dict)
    verdict: json.JsonObject = field(default_factory=dict)
    #: When it was measured.
    looks: set[datetime] = field(default_factory=set)
    #: Where it is a score: when it was told, and the verdict's document.
    told: list[tuple[datetime, json.JsonObject]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """Why, as the newest verdict says it; empty: there is none yet."""
        return str(self.verdict.get("sentence", ""))

    @property
    def result(self) -> str:
        """The newest verdict in a word; empty: there is none yet."""
        word = str(self.verdict.get("result", ""))
        if word == analysis.Result.PASS and not self.verdict.get("isFinal"):
            word = "pass so far"
        if word and self.is_scored:
            return f"{word} (scored)"
        return f"{word} (dry run)" if word and self.verdict.get("dryRun") else word

    @property
    def is_scored(self) -> bool:
        """Whether it is not this verdict that decides but the score that it counts for."""
        return bool(self.verdict.get("isScored"))


def read(findings: Iterable[json.JsonObject]) -> list[JudgedMetric]:
    """Return what was found by stage, metric and cluster; of each the newest attempt."""
    judged_metrics: dict[tuple[str, str, str], JudgedMetric] = {}
    for finding in findings:
        stage, target, metric = (str(finding[key]) for key in ("stage", "target", "metric"))
        place, attempt = (stage, metric, target), int(finding["attempt"])
        judged = judged_metrics.get(place)
        if judged is None or judged.attempt < attempt:
            judged = judged_metrics[place] = JudgedMetric(stage, target, metric, attempt)
        if judged.attempt == attempt:
            _add(judged, str(finding["kind"]), finding["document"])
    for judged in judged_metrics.values():
        if judged.told:
            looks = {
                look
                for other in judged_metrics.values()
                if (other.stage, other.target) == (judged.stage, judged.target)
                for look in other.looks
            }
            judged.lines = _of_score(judged.told, looks)
    return [judged_metrics[key] for key in sorted(judged_metrics)]


def _of_score(
    told: Sequence[tuple[datetime, json.JsonObject]], looks: Iterable[datetime]
) -> dict[str, Line]:
    """Return the score at each look, and what each group of metrics added to it."""
    newest = told[-1][1]["score"]
    bounds = [f"passes from {newest['pass']:g}"]
    if newest["marginal"] is not None:
        bounds.append(f"marginal from {newest['marginal']:g}")
    whole = Line(", ".join(bounds), worth=scores.WHOLE)
    groups = {
        part["group"]: Line(str(part["group"]), worth=float(part["worth"]))
        for part in newest["parts"]
    }
    for _, document in scores.at_looks(told, looks):
        value = document.get("numbers", {}).get("value")
        whole.values.append(None if value is None else float(value))
        parts = {part["group"]: float(part["points"]) for part in document["score"]["parts"]}
        for name, line in groups.items():
            line.values.append(parts.get(name))
    # No group has this name: what it is called is not shown.
    return {"": whole, **groups}


def _add(judged: JudgedMetric, kind: str, document: json.JsonObject) -> None:
    if kind == _VERDICT:
        judged.verdict = document
        if "score" in document:
            judged.told.append((datetime.fromisoformat(document["time"]), document))
    # A budget's measurement is of another stretch of time, and bounds of buckets are no values; the
    # sentence says what they come to.
    if kind != _MEASUREMENT or document.get("role") in (analysis.Role.BUDGET, analysis.Role.BUCKET):
        return
    judged.looks.add(datetime.fromisoformat(document["time"]))
    variant = str(document.get("variant", ""))
    is_before = document.get("role") == analysis.Role.HISTORY
    line = judged.lines.setdefault(variant, Line(variant, is_before=is_before))
    line.query = str(document.get("query", ""))
    line.values.append(_middle(document))
    line.trouble = str(document.get("message", ""))
    line.failed += document.get("result") == "fail"


def _middle(document: json.JsonObject) -> float | None:
    """Return one number for a look: the middle value, or the share of the total."""
    values = [float(value) for value in document.get("values", ())]
    totals = [float(total) for total in document.get("totals", ())]
    if totals:
        whole = sum(totals)
        return sum(values) / whole if whole else None
    usable = [value for value in values if math.isfinite(value)]
    return median(usable) if usable else None


def table(judged_metrics: Sequence[JudgedMetric]) -> list[str]:
    """Return the lines of a table; a metric that compares has a row for each side."""
    rows = [("METRIC", "CLUSTER", "VARIANT", "LOOKS", "FAILED", "LAST", "VERDICT", "")]
    for judged in judged_metrics:
        if not judged.lines:
            value = judged.verdict.get("numbers", {}).get("value")
            shown = "-" if value is None else f"{value:.4g}"
            rows.append((judged.metric, judged.target, "", "", "", shown, judged.result, ""))
        first = True
        for line in judged.lines.values():
            head = (judged.metric, judged.target) if first else ("", "")
            failed = str(line.failed) if first and line.worth is None else ""
            result = (judged.result or "-") if first else ""
            looks = str(len(line.values))
            rows.append((*head, line.variant, looks, failed, line.last, result, line.bars))
            first = False
    return list(console.aligned(rows))


def sentences(judged_metrics: Sequence[JudgedMetric]) -> list[str]:
    """Return the verdicts in words, what decides and what failed first, each sentence once."""
    order = {"fail": 0, "inconclusive": 1, "pass": 2}
    decided = [judged for judged in judged_metrics if judged.verdict]
    decided.sort(
        key=lambda judged: (judged.is_scored, order.get(str(judged.verdict.get("result")), 3))
    )
    lines = [f"{judged.result}: {judged.sentence}" for judged in decided]
    said = {judged.sentence for judged in decided}
    lines += [f"pooled: {sentence}" for sentence in _pooled(decided) if sentence not in said]
    lines += [
        f"not answered: {_whose(judged, line)} on {judged.target}: {line.trouble}"
        for judged in judged_metrics
        for line in judged.lines.values()
        if line.trouble
    ]
    return list(dict.fromkeys(lines))


def _whose(judged: JudgedMetric, line: Line) -> str:
    return f"{judged.metric}, {line.variant}," if line.is_before else judged.metric


def _pooled(decided: Sequence[JudgedMetric]) -> list[str]:
    """Return the verdicts over all clusters, of metrics that were judged on several."""
    return [
        str(judged.verdict["pooled"].get("sentence", ""))
        for judged in decided
        if isinstance(judged.verdict.get("pooled"), dict)
        and sum(other.metric == judged.metric for other in decided) > 1
    ]


def queries(judged_metrics: Sequence[JudgedMetric]) -> list[str]:
    """Return each query that was sent, once, with what it is for."""
    lines = [
        f"{judged.metric} ({line.variant}): {line.query}"
        for judged in judged_metrics
        for line in judged.lines.values()
        if line.query
    ]
    return list(dict.fromkeys(lines))
