"""Reads how many looks a metric takes, and how many of them may go wrong (Argo Rollouts' words)."""

from collections.abc import Sequence
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.stages import metric_sections, query_placeholders
from volary.config.text import yaml
from volary.model import analysis

COUNT = "count"
_INCONCLUSIVE, _ERRORS = "inconclusiveLimit", "consecutiveErrorLimit"
#: What a metric may say of its looks that PipeCD has no word for.
OF_METRIC = (COUNT, _INCONCLUSIVE, _ERRORS)


def check_fields(reading: readings.Reading, rule: analysis.Rule, path: yaml.Path) -> None:
    """Note what the metric or request at `path` says of its looks to no effect."""
    for name in OF_METRIC:
        if reading.written((*path, name)) is not None:
            reading.refuse_in_pipecd((*path, name), name)
    is_sequential = rule.judgement is analysis.Judgement.SEQUENTIAL
    if is_sequential and rule.inconclusive_limit is not None and not reading.is_pipecd:
        why = "a sequential judgement takes all looks together"
        message = f"{_INCONCLUSIVE} has no effect: {why}"
        reading.error((*path, _INCONCLUSIVE), message)


def duration(
    reading: readings.Reading,
    read: metric_sections.Analysis,
    measured: Sequence[analysis.Rule],
    path: yaml.Path,
) -> timedelta:
    """Return how long an analysis takes; what is wrong with it is noted."""
    lengths = {rule.name: rule.length for rule in measured}
    if read.duration is None:
        endless = [name for name, length in lengths.items() if length is None]
        if endless or reading.is_pipecd:
            hint = "" if reading.is_pipecd else f"or a {COUNT} for {', '.join(endless)}"
            reading.error((*path, "duration"), "is required", hint)
        return max((length for length in lengths.values() if length), default=timedelta(0))
    for rule in measured:
        if rule.length is not None and timedelta(0) < read.duration < rule.length:
            takes = query_placeholders.interval_text(rule.length)
            message = f"{rule.name} takes {takes} until it has its {COUNT} of {rule.count}"
            reading.error((*path, "duration"), message, f"write {takes}, or leave it out")
    return read.duration
