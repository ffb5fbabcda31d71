"""Metrics of an analysis: Flagger's built-in ones, templates, and the old inline queries."""

from datetime import timedelta
from typing import Any

from volary.config.dialects.flagger import schema, source, steps

_SUCCESS_RATE = "request-success-rate"
_BUILT_IN = (_SUCCESS_RATE, "request-duration")


def translate(read: source.Source, step: steps.Step, interval: timedelta) -> None:
    """Write the checks of a stage."""
    assert read.analysis is not None
    for i, each in enumerate(read.analysis.metrics):
        at = (*read.analysis_path, "metrics", i)
        made: dict[str, Any] = {"name": each.name}
        made["expected"] = _expected(read, each)
        read.put((*step.path, "with", "metrics", i), made, at)


def _expected(read: source.Source, each: schema.Metric) -> dict[str, float]:
    """Return the bounds; without a range the old threshold is one of them."""
    if each.threshold_range is not None:
        found = {"min": each.threshold_range.min, "max": each.threshold_range.max}
        return {name: value for name, value in found.items() if value is not None}
    if each.threshold is not None:
        return {"min" if each.name == _SUCCESS_RATE else "max": each.threshold}
    return {}
