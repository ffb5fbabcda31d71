"""What an analysis judges of canary's pods where nothing is said: restarts, and memory.

What a pod uses says little by itself: processor time follows traffic, and memory is low in fresh
pods. So one thing is judged of it, that a pod is about to be killed for lack of memory, at three
measurements in a row, and while the other side's pods are not. Both are compared with the other
side's as well, which is shown and decides nothing.
"""

import dataclasses
from collections.abc import Container
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.stages import metric_sections
from volary.config.text import yaml
from volary.model import analysis

JUDGED, THRESHOLD = "judgePods", "restartThreshold"
#: A pod may wait in vain for what it needs, once or twice, while both come up.
_RESTARTS = 2
_INTERVAL = timedelta(seconds=30)
#: Above so much of its limit a container is about to be killed.
_FULL = 0.95
#: It takes three measurements to say so.
_LOOKS_AT_LEAST = 4
_SHORTEST = timedelta(seconds=1)
#: From so many times the other side's on, use is worth a word.
_REMARKABLE = {analysis.PodMetric.CPU: 2.0, analysis.PodMetric.MEMORY: 1.5}
_REMARKABLE_LOOKS = 3


def convert(
    reading: readings.Reading,
    read: metric_sections.Analysis,
    named: Container[str],
    length: timedelta,
    path: yaml.Path,
) -> tuple[analysis.Rule, ...]:
    """Return the rules; what is wrong with what is said of them is noted.

    Args:
        reading: The file.
        read: The stage.
        named: The names of its metrics, which are not judged twice.
        length: How long it takes.
        path: Of the stage's options.
    """
    if reading.is_pipecd:
        _check_pipecd(reading, path)
        return ()
    if not read.judge_pods:
        if read.restart_threshold is not None:
            message = f"{THRESHOLD} has no effect: {JUDGED} is false"
            reading.error((*path, THRESHOLD), message, "remove one of the two")
        return ()
    restarts = _RESTARTS if read.restart_threshold is None else read.restart_threshold
    if read.restart_threshold is not None and analysis.PodMetric.RESTARTS.value in named:
        message = f"{THRESHOLD} has no effect beside a metric {analysis.PodMetric.RESTARTS.value}"
        reading.error((*path, THRESHOLD), message, "remove one of the two")
    judged = (
        _rule(analysis.PodMetric.RESTARTS, restarts, min(_INTERVAL, length)),
        _rule(analysis.PodMetric.OUT_OF_MEMORY, 0, min(_INTERVAL, length)),
        _full_memory(length),
        *(_compared(metric, times, length) for metric, times in _REMARKABLE.items()),
    )
    return tuple(rule for rule in judged if rule.name not in named) if length else ()


def _check_pipecd(reading: readings.Reading, path: yaml.Path) -> None:
    if reading.written((*path, JUDGED)) is not None:
        reading.refuse_in_pipecd((*path, JUDGED), JUDGED)
    if reading.written((*path, THRESHOLD)) is not None:
        why = "counting restarts, which PipeCD reads and does not do either"
        message = f"{THRESHOLD} ({why}) is not carried out in PipeCD's files; it is ignored"
        reading.warn((*path, THRESHOLD), message, "write apiVersion: volary.dev/v1")


def _rule(metric: analysis.PodMetric, most: float, interval: timedelta) -> analysis.Rule:
    return analysis.Rule(
        metric.value,
        built_in=metric.value,
        interval=interval,
        expected=analysis.Range(maximum=most),
        # Who cannot be asked condemns nobody.
        no_data=analysis.NoData.PASS,
        # Not worth points of a score: what has failed has.
        critical=True,
        weight=0.0,
    )


def _full_memory(length: timedelta) -> analysis.Rule:
    interval = max(_SHORTEST, min(_INTERVAL, length / _LOOKS_AT_LEAST))
    rule = _rule(analysis.PodMetric.MEMORY_LIMIT, _FULL, interval)
    return dataclasses.replace(rule, spares_alike=True)


def _compared(metric: analysis.PodMetric, times: float, length: timedelta) -> analysis.Rule:
    """Return a rule that shows both sides; where baseline runs it is compared with that."""
    rule = _rule(metric, 0, min(_INTERVAL, length))
    return dataclasses.replace(
        rule,
        expected=None,
        strategy=analysis.Strategy.CANARY_PRIMARY,
        deviation=analysis.Deviation.HIGH,
        ratio_limit=times,
        failure_limit=_REMARKABLE_LOOKS - 1,
        failure_count=analysis.FailureCount.CONSECUTIVE,
        dry_run=True,
        critical=False,
    )
