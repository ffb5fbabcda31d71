"""Reads conditions in CEL on the answers of a metric, and refuses what could never be asked."""

import functools

from volary.config.decoding import readings
from volary.config.stages import metric_sections
from volary.config.text import yaml
from volary.model import analysis

_FIELDS = ("successCondition", "failureCondition")
_HINT = "an example: result[0] < 0.05, or result < 0.05 where there is one value"


def check(
    reading: readings.Reading,
    read: metric_sections.Metric,
    rule: analysis.Rule,
    path: yaml.Path,
) -> None:
    """Note what is wrong with the conditions of the metric at `path`."""
    given = [name for name in _FIELDS if reading.written((*path, name)) is not None]
    refused = [name for name in given if reading.refuse_in_pipecd((*path, name), name)]
    # Of a Job it was said that it decides by itself.
    if not given or refused or read.job is not None:
        return
    from volary.config.text import result_conditions  # few metrics have conditions

    for name, text in zip(_FIELDS, (rule.success_condition, rule.failure_condition), strict=True):
        if name in given:
            parse = functools.partial(result_conditions.parse, text)
            reading.accepts((*path, name), parse, _HINT)
    for field, is_said in (("expected", read.expected is not None), ("slo", read.slo is not None)):
        if is_said:
            message = "a condition says what is good"
            reading.error((*path, field), message, "remove one of the two")
    if rule.strategy is not analysis.Strategy.THRESHOLD:
        message = f"a condition is asked of one side, and {rule.strategy.value} compares"
        reading.error((*path, given[0]), message, "remove it, or strategy")
    elif rule.kind is not analysis.Kind.VALUE:
        message = f"a condition is asked of values, and this is a {rule.kind.value}"
        reading.error((*path, given[0]), message, "write expected, or leave out kind")
