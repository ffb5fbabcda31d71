"""Reads thresholds that are made of earlier weeks, and refuses those that nobody could know."""

import re
from dataclasses import replace
from datetime import timedelta

from volary.config.decoding import base_sections, readings
from volary.config.stages import metric_sections
from volary.config.text import yaml
from volary.model import analysis, phrases

_HISTORY = "history"
#: A query that counts the events of any stretch of time.
_ANY_INTERVAL = re.compile(r"\{\{\s*interval\s*\}\}")
_SHORTEST = timedelta(hours=1)
_EARLIEST = timedelta(days=100)


def with_history(
    reading: readings.Reading,
    read: metric_sections.Metric,
    rule: analysis.Rule,
    path: yaml.Path,
) -> analysis.Rule:
    """Return the rule with its history; what is wrong with it is noted."""
    at = (*path, _HISTORY)
    if read.history is None or reading.refuse_in_pipecd(at, _HISTORY):
        return rule
    history = base_sections.value_of(analysis.History, read.history)
    if history.window <= timedelta(0):
        reading.error((*at, "window"), "must be more than 0")
    if history.offset < max(history.window, _SHORTEST):
        message = "is shorter than window, or than an hour"
        reading.error((*at, "offset"), message, "write 7d for the same hour of the weeks before")
    if history.count * history.offset > _EARLIEST:
        ago = phrases.count((history.count * history.offset).days, "day")
        reading.error((*at, "offset"), f"the earliest is {ago} ago, more than {_EARLIEST.days}")
    for name, is_said in (
        ("expected", read.expected is not None),
        ("slo", read.slo is not None),
        ("successCondition", bool(rule.success_condition)),
        ("failureCondition", bool(rule.failure_condition)),
    ):
        if is_said:
            reading.error((*path, name), "history says what is good", "remove one of the two")
    if rule.strategy is not analysis.Strategy.THRESHOLD:
        message = f"history is a threshold, and {rule.strategy.value} compares"
        reading.error((*path, "strategy"), message, "remove it, or history")
    return replace(rule, history=history)


def check_queries(reading: readings.Reading, rule: analysis.Rule, path: yaml.Path) -> None:
    """Note what cannot be asked about the times before."""
    if rule.history is None:
        return
    if rule.is_of_pods:
        message = f"a cluster tells {rule.name} as it is now"
        reading.error((*path, _HISTORY), message, "remove it")
    if rule.built_in or rule.kind is analysis.Kind.VALUE:
        return
    for name, text in (("query", rule.query), ("totalQuery", rule.total_query)):
        if text and not _ANY_INTERVAL.search(text):
            message = "history counts events of its window, and this those of one interval"
            reading.error((*path, name), message, "write [{{ interval }}] as its range")
