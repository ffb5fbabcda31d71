"""Whether the stages of a pipeline come in an order that makes sense."""

from collections.abc import Iterator, Sequence

from volary.config.decoding import readings
from volary.config.stages import fleet_shares, traffic_weights
from volary.config.text import yaml
from volary.model import analysis
from volary.model.pipeline import pipelines, variant

ROLLOUTS = {
    variant.Variant.CANARY: pipelines.StageName.CANARY_ROLLOUT,
    variant.Variant.BASELINE: pipelines.StageName.BASELINE_ROLLOUT,
}
_CLEANS = {
    variant.Variant.CANARY: pipelines.StageName.CANARY_CLEAN,
    variant.Variant.BASELINE: pipelines.StageName.BASELINE_CLEAN,
}
_SIDES = {
    analysis.Strategy.CANARY_BASELINE: (variant.Variant.CANARY, variant.Variant.BASELINE),
    analysis.Strategy.CANARY_PRIMARY: (variant.Variant.CANARY,),
}
_ALL = 100
_PROMOTIONS = (pipelines.StageName.PRIMARY_ROLLOUT, pipelines.StageName.SYNC)


def check(reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path) -> None:
    """Note what is odd about the order of the stages, which are all there.

    `path` is that of their list, in which each stage's index is counted.
    """
    for each in ROLLOUTS:
        _check_variant_order(reading, pipeline, each, path)
    _check_sides(reading, pipeline, path)
    _check_promotion(reading, pipeline, path)
    _check_repeated(reading, pipeline, path)
    fleet_shares.check_order(reading, pipeline, path)


def _check_variant_order(
    reading: readings.Reading,
    pipeline: Sequence[pipelines.Stage],
    which: variant.Variant,
    path: yaml.Path,
) -> None:
    rollout, clean = ROLLOUTS[which], _CLEANS[which]
    running = False
    last: pipelines.Stage | None = None
    for step in pipeline:
        if step.name is rollout:
            running, last = True, step
        elif step.name is clean:
            if not running:
                reading.warn((*path, step.index), f"{clean} comes before any {rollout}")
            running = False
        elif not running and _share(step, which) > 0:
            share = f"{_share(step, which)}% of the traffic"
            if not isinstance(step.options, pipelines.TrafficOptions):
                share = "traffic"
            message = f"{share} goes to {which.value}, which is not running here"
            reading.lenient((*path, step.index), message, f"add {rollout} before it")
    if running and last is not None:
        reading.warn(
            (*path, last.index), f"no {clean} follows: {which.value} keeps running", f"add {clean}"
        )


def _check_sides(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    """Note comparisons with a variant that does not run: they never have anything to judge."""
    running: set[variant.Variant] = set()
    for step in pipeline:
        for which, rollout in ROLLOUTS.items():
            running |= {which} if step.name is rollout else set()
            running -= {which} if step.name is _CLEANS[which] else set()
        for strategy, sides in _SIDES.items():
            rule = next((each for each in _rules(step) if each.strategy is strategy), None)
            missing = [side for side in sides if side not in running]
            if rule is not None and missing:
                name = missing[0].value
                message = f"{rule.name} is judged by {strategy.value}, and {name} does not run here"
                hint = f"add {ROLLOUTS[missing[0]]} before it"
                reading.error((*path, step.index), message, hint)


def _rules(step: pipelines.Stage) -> Iterator[analysis.Rule]:
    """Yield the rules whose canary is one that another stage made."""
    for options in (step.options, step.beside):
        if isinstance(options, pipelines.AnalysisOptions):
            yield from options.metrics
    if isinstance(step.options, pipelines.ProgressiveTrafficOptions):
        yield from step.options.metrics


def _check_promotion(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    first = next((s for s in pipeline if s.name is pipelines.StageName.CANARY_ROLLOUT), None)
    if first is not None and not any(
        step.name in _PROMOTIONS and step.index > first.index for step in pipeline
    ):
        message = "the new version never becomes primary: no K8S_PRIMARY_ROLLOUT follows"
        reading.warn((*path, first.index), message, "add K8S_PRIMARY_ROLLOUT")


def _check_repeated(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    """Two equal promotions on the same clusters are a slip; weights and waits may come back."""
    seen: dict[tuple[object, ...], int] = {}
    for step in pipeline:
        if step.name not in _PROMOTIONS:
            continue
        same = (step.name, step.options, step.targets)
        if same in seen:
            message = f"{step.name} is the same as stage {seen[same] + 1}"
            reading.warn((*path, step.index), message, "remove one of them")
        seen.setdefault(same, step.index)


def _share(step: pipelines.Stage, which: variant.Variant) -> int:
    if isinstance(step.options, pipelines.ProgressiveTrafficOptions | pipelines.BlueGreenOptions):
        return _ALL * (which is variant.Variant.CANARY)
    if not isinstance(step.options, pipelines.TrafficOptions):
        return 0
    return traffic_weights.share(step.options, which)
