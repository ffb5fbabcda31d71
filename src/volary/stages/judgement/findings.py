"""What an analysis found, as documents: kept, shown, and read again after a restart."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

from volary.model import analysis, json

MEASUREMENT, VERDICT = "measurement", "verdict"
#: Points kept of one measurement.
_MOST = 2_000


def of_measurement(
    measurement: analysis.Measurement, check: analysis.Check | None
) -> json.JsonObject:
    """Return the document of a measurement, with how its look was judged."""
    document: json.JsonObject = {
        "metric": measurement.metric,
        "query": measurement.query,
        "time": measurement.time.isoformat(),
        "target": measurement.target,
        "variant": measurement.variant,
        "role": measurement.role.value,
        "values": _numbers(measurement.values),
        "totals": _numbers(measurement.totals),
        "reading": measurement.reading.value,
        "message": measurement.message,
    }
    if check is not None:
        document["result"] = check.result.value
        document["sentence"] = check.sentence
    return document


def to_measurement(document: json.JsonObject) -> analysis.Measurement:
    """Read the document of a measurement."""
    return analysis.Measurement(
        metric=str(document["metric"]),
        query=str(document["query"]),
        time=datetime.fromisoformat(str(document["time"])),
        target=str(document["target"]),
        variant=str(document["variant"]),
        role=analysis.Role(document["role"]),
        values=tuple(map(float, document["values"])),
        totals=tuple(map(float, document["totals"])),
        reading=analysis.Reading(document["reading"]),
        message=str(document["message"]),
    )


def of_verdict(
    verdict: analysis.Verdict, own: analysis.Verdict, pooled: analysis.Verdict, at: datetime
) -> json.JsonObject:
    """Return the document of a verdict: what decides, what the cluster's own data and all say."""
    numbers = {
        name: value if isinstance(value, int) else _number(value)
        for name, value in asdict(verdict.numbers).items()
        if value is not None
    }
    return {
        "metric": verdict.metric,
        "time": at.isoformat(),
        "target": own.target,
        "result": verdict.result.value,
        "sentence": verdict.sentence,
        "isFinal": verdict.is_final,
        "dryRun": verdict.dry_run,
        "numbers": numbers,
        "own": {"result": own.result.value, "sentence": own.sentence},
        "pooled": {"result": pooled.result.value, "sentence": pooled.sentence},
        "outliers": list(pooled.outliers),
    }


def _numbers(values: Sequence[float]) -> list[object]:
    return [_number(value) for value in _newest(values)]


def _newest(values: Sequence[float]) -> Iterable[float]:
    return values[-_MOST:]


def _number(value: float) -> object:
    """Return what JSON can hold; `float` reads all of it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
