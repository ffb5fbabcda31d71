"""What an analysis found, as documents: stored, shown, and read again after a restart."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

import msgspec

from volary.model import analysis, json

MEASUREMENT, VERDICT = "measurement", "verdict"
#: What of a document tells a finding from others of its metric.
_KEYS = {
    MEASUREMENT: ("time", "role", "variant", "target"),
    VERDICT: ("time", "result", "isFinal"),
}
#: Points kept of one measurement.
_MOST = 2_000


def of_measurement(
    measurement: analysis.Measurement, check: analysis.Check | None
) -> json.JsonObject:
    """Return the document of a measurement, with how its look was judged."""
    document: json.JsonObject = {
        **msgspec.to_builtins(measurement),
        "time": measurement.time.isoformat(),
        "values": _numbers(measurement.values),
        "totals": _numbers(measurement.totals),
    }
    if check is not None:
        document["result"] = check.result.value
        document["sentence"] = check.sentence
    return document


def key(attempt: int, kind: str, metric: str, document: Mapping[str, object]) -> str:
    """Return what a finding is counted by: what is asked twice about one moment counts once.

    The cluster and the stage it was found in are not part of it. Empty: it has no moment.
    """
    if "time" not in document:
        return ""
    parts = [document.get(name, "") for name in _KEYS.get(kind, ())]
    if "score" in document:
        # It changes with each of its metrics, several of which are judged at one moment.
        sentence = str(document.get("sentence", "")).encode("utf-8", "replace")
        parts.append(hashlib.blake2s(sentence, digest_size=8).hexdigest())
    return "|".join(map(str, (attempt, kind, metric, *parts)))


def to_measurement(document: json.JsonObject) -> analysis.Measurement:
    """Read the document of a measurement."""
    # Not strict: NaN and infinities are texts.
    return json.convert(document, analysis.Measurement, strict=False)


def of_verdict(
    verdict: analysis.Verdict, own: analysis.Verdict, pooled: analysis.Verdict, at: datetime
) -> json.JsonObject:
    """Return the document of a verdict: what decides, what the cluster's own data and all say."""
    document: json.JsonObject = {
        "metric": verdict.metric,
        "time": at.isoformat(),
        "target": own.target,
        "result": verdict.result.value,
        "sentence": verdict.sentence,
        "isFinal": verdict.is_final,
        "dryRun": verdict.dry_run,
        "numbers": _of_numbers(verdict.numbers),
        "own": {"result": own.result.value, "sentence": own.sentence},
        "pooled": {
            "result": pooled.result.value,
            "sentence": pooled.sentence,
            "numbers": _of_numbers(pooled.numbers),
        },
        "outliers": list(pooled.outliers),
    }
    if verdict.score is not None:
        document["score"] = _of_score(verdict.score)
    return document


def _of_score(score: analysis.Score) -> json.JsonObject:
    return {
        "pass": score.thresholds.least,
        "marginal": score.thresholds.marginal,
        "parts": [asdict(part) for part in score.parts],
    }


def _of_numbers(numbers: analysis.Numbers) -> json.JsonObject:
    return {
        name: value if isinstance(value, int) else _number(value)
        for name, value in asdict(numbers).items()
        if value is not None
    }


def _numbers(values: Sequence[float]) -> list[object]:
    return [_number(value) for value in values[-_MOST:]]


def _number(value: float) -> object:
    """Return what JSON can hold; `float` reads all of it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
