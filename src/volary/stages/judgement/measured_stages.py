"""Which stages of an application measure, what, and for how long: read from its options alone."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from volary.model import analysis, applications
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import stage_kind, traffic_stages, waiting_stages


def find(
    application: applications.Application,
) -> Iterator[tuple[str, waiting_stages.AnalysisOptions]]:
    """Yield what is measured in each stage and for how long, with a name of the stage.

    A duration of nothing: as long as the stage beside which it is measured takes.
    """
    for stage in application.pipeline:
        name = stage_name(stage)
        for options in (stage.options, stage.beside):
            yield from ((name, one) for one in _options(options))

    for wave in application.waves.waves:
        if wave.gate.analysis is not None:
            yield gate_name(wave.name), wave.gate.analysis


def stage_name(stage: pipelines.Stage) -> str:
    """Return what a stage is called beside others of its kind."""
    return f"{stage.index + 1}-{stage.name}"


def gate_name(wave: str) -> str:
    """Return what the analysis at the end of a wave is called."""
    return f"{wave}/{waiting_stages.ANALYSIS.name}"


def _options(options: stage_kind.StageOptions | None) -> Iterator[waiting_stages.AnalysisOptions]:
    match options:
        case waiting_stages.AnalysisOptions():
            yield options
        case traffic_stages.ProgressiveTrafficOptions() if options.metrics:
            steps = options.iterations or len(options.step_weights)
            steps = steps or math.ceil(options.max_weight / max(1, options.step_weight))
            yield _rounds(options.metrics, options.threshold, steps * options.interval)
        case traffic_stages.BlueGreenOptions():
            for checks in (options.pre_promotion, options.post_promotion):
                if checks is not None and checks.metrics:
                    length = checks.count * checks.interval
                    yield _rounds(checks.metrics, checks.threshold, length)


def _rounds(
    rules: tuple[analysis.Rule, ...], threshold: int, length: timedelta
) -> waiting_stages.AnalysisOptions:
    """Return checks in rounds, of which `threshold` failed ones are too many."""
    tolerant = tuple(
        replace(rule, failure_limit=max(rule.failure_limit, threshold - 1)) for rule in rules
    )
    return waiting_stages.AnalysisOptions(length, tolerant)
