"""What an analysis judges of canary's pods where nothing is said: restarts, and memory."""

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
    allowed = {analysis.PodMetric.RESTARTS: restarts, analysis.PodMetric.OUT_OF_MEMORY: 0}
    return tuple(
        _rule(metric, most, length)
        for metric, most in allowed.items()
        if metric.value not in named and length
    )


def _check_pipecd(reading: readings.Reading, path: yaml.Path) -> None:
    if reading.written((*path, JUDGED)) is not None:
        reading.refuse_in_pipecd((*path, JUDGED), JUDGED)
    if reading.written((*path, THRESHOLD)) is not None:
        why = "counting restarts, which PipeCD reads and does not do either"
        message = f"{THRESHOLD} ({why}) is not carried out in PipeCD's files; it is ignored"
        reading.warn((*path, THRESHOLD), message, "write apiVersion: volary.dev/v1")


def _rule(metric: analysis.PodMetric, most: float, length: timedelta) -> analysis.Rule:
    return analysis.Rule(
        metric.value,
        built_in=metric.value,
        interval=min(_INTERVAL, length),
        expected=analysis.Range(maximum=most),
        # Who cannot be asked condemns nobody.
        no_data=analysis.NoData.PASS,
        # Not worth points of a score: what has failed has.
        critical=True,
        weight=0.0,
    )
