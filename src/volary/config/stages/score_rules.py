"""Reads how the verdicts of an analysis become a score, and refuses what could not count.

The names are Kayenta's where it has them: `scoreThresholds`, `groupWeights`, `critical`.
"""

import math
from collections.abc import Mapping, Sequence

from volary.config.decoding import readings
from volary.config.stages import metric_sections
from volary.config.text import yaml
from volary.model import analysis

_THRESHOLDS, _WEIGHTS = "scoreThresholds", "groupWeights"
#: What a metric may say of its part of a score.
_OF_METRIC = ("critical", "group", "weight")
#: All group weights together.
_WHOLE = 100
_ANY = analysis.ScoreThresholds(_WHOLE)


def check_fields(reading: readings.Reading, path: yaml.Path, *, is_scored: bool) -> None:
    """Note what the metric at `path` says of a score where there is none."""
    for name in _OF_METRIC:
        if reading.written((*path, name)) is None:
            continue
        if not reading.refuse_in_pipecd((*path, name), name) and not is_scored:
            hint = f"every metric has to pass; {_THRESHOLDS} of ANALYSIS has them scored"
            reading.error((*path, name), f"{name} has no effect without {_THRESHOLDS}", hint)


def convert(
    reading: readings.Reading,
    read: metric_sections.Analysis,
    rules: Sequence[analysis.Rule],
    path: yaml.Path,
) -> analysis.Scoring | None:
    """Return how the metrics are scored; None: each has to pass. What is wrong is noted."""
    if reading.is_pipecd:
        for name in (_THRESHOLDS, _WEIGHTS):
            if reading.written((*path, name)) is not None:
                reading.refuse_in_pipecd((*path, name), name)
        return None
    thresholds = read.score_thresholds
    if thresholds is None:
        if read.group_weights:
            hint = f"write {_THRESHOLDS}: {{pass: …}}"
            reading.error((*path, _WEIGHTS), f"has no effect without {_THRESHOLDS}", hint)
        return None
    if thresholds.lowest > thresholds.least:
        message = "is more than pass: every score is good or too low, none is marginal"
        reading.error((*path, _THRESHOLDS, "marginal"), message, "leave it out, or write less")
    scored = [rule for rule in rules if not rule.dry_run]
    if any(rule.name == analysis.SCORE for rule in scored):
        message = f"a metric called {analysis.SCORE} could not be told from the score"
        reading.error(path, message, "give it another name")
    if not scored:
        reading.error((*path, _THRESHOLDS), "nothing is scored: every metric is a dry run")
    _check_weights(reading, read.group_weights, scored, (*path, _WEIGHTS))
    scoring = analysis.Scoring(thresholds, dict(read.group_weights))
    if not reading.has_errors and scored and not any(rule.critical for rule in scored):
        _check_alone(reading, scoring, scored, (*path, _THRESHOLDS))
    return scoring


def _check_weights(
    reading: readings.Reading,
    weights: Mapping[str, float],
    scored: Sequence[analysis.Rule],
    path: yaml.Path,
) -> None:
    if not weights or not scored:
        return
    groups = list(analysis.Scoring(_ANY).points(scored))
    for name in weights:
        if name not in groups:
            message = f"no metric is in the group {name}"
            reading.error((*path, name), message, readings.did_you_mean(name, groups))
    if missing := [name for name in groups if name not in weights]:
        message = f"{', '.join(missing)}: no weight is given"
        reading.error(path, message, "every group has one, and all add up to 100")
    elif not math.isclose(total := math.fsum(weights.values()), _WHOLE, abs_tol=1e-6):
        reading.error(path, f"add up to {total:g}, not to {_WHOLE}")


def _check_alone(
    reading: readings.Reading,
    scoring: analysis.Scoring,
    scored: Sequence[analysis.Rule],
    path: yaml.Path,
) -> None:
    """Warn when no metric can fail the release by itself."""
    worth = [points for group in scoring.points(scored).values() for points in group.values()]
    if _WHOLE - max(worth) < scoring.thresholds.least:
        return
    message = "no metric can fail the release by itself"
    reading.warn(path, message, "critical: true for those that must never fail, or a higher pass")
