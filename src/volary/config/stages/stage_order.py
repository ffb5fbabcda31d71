"""Whether the stages of a pipeline come in an order that makes sense."""

from collections.abc import Iterator, Sequence

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import analysis
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import (
    catalog,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)

#: Variants that run beside primary.
EXTRA_VARIANTS = (variant.Variant.CANARY, variant.Variant.BASELINE)
_SIDES = {
    analysis.Strategy.CANARY_BASELINE: (variant.Variant.CANARY, variant.Variant.BASELINE),
    analysis.Strategy.CANARY_BASELINE_PRIMARY: (variant.Variant.CANARY, variant.Variant.BASELINE),
    analysis.Strategy.CANARY_PRIMARY: (variant.Variant.CANARY,),
}
_ALL = 100


def check(reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path) -> None:
    """Note what is odd about the order of the stages, which are all there.

    `path` is that of their list, in which each stage's index is counted.
    """
    for variant_role in EXTRA_VARIANTS:
        _check_variant_order(reading, pipeline, variant_role, path)
    _check_sides(reading, pipeline, path)
    _check_promotion(reading, pipeline, path)
    _check_repeated(reading, pipeline, path)
    _check_fleet_shares(reading, pipeline, path)


def _check_variant_order(
    reading: readings.Reading,
    pipeline: Sequence[pipelines.Stage],
    which: variant.Variant,
    path: yaml.Path,
) -> None:
    rollout, clean = catalog.rollout_of(which).name, catalog.clean_of(which).name
    running = False
    last: pipelines.Stage | None = None
    for step in pipeline:
        if step.kind.applies is which:
            running, last = True, step
        elif step.kind.removes is which:
            if not running:
                reading.warn((*path, step.index), f"{clean} comes before any {rollout}")
            running = False
        elif not running and _share(step, which) > 0:
            share = f"{_share(step, which)}% of the traffic"
            if not isinstance(step.options, traffic_stages.TrafficOptions):
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
        running -= {step.kind.removes}
        if step.kind.applies is not None:
            running.add(step.kind.applies)
        for strategy, sides in _SIDES.items():
            rule = next(
                (candidate for candidate in _rules(step) if candidate.strategy is strategy), None
            )
            missing = [side for side in sides if side not in running]
            if rule is not None and missing:
                name = missing[0].value
                message = f"{rule.name} is judged by {strategy.value}, and {name} does not run here"
                hint = f"add {catalog.rollout_of(missing[0]).name} before it"
                reading.error((*path, step.index), message, hint)


def _rules(step: pipelines.Stage) -> Iterator[analysis.Rule]:
    """Yield the rules whose canary is one that another stage made."""
    for options in (step.options, step.beside):
        if isinstance(options, waiting_stages.AnalysisOptions):
            yield from options.metrics
    if isinstance(step.options, traffic_stages.ProgressiveTrafficOptions):
        yield from step.options.metrics


def _check_promotion(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    first = next((s for s in pipeline if s.kind.applies is variant.Variant.CANARY), None)
    if first is not None and not any(
        step.kind.applies is variant.Variant.PRIMARY and step.index > first.index
        for step in pipeline
    ):
        message = "the new version never becomes primary: no K8S_PRIMARY_ROLLOUT follows"
        reading.warn((*path, first.index), message, "add K8S_PRIMARY_ROLLOUT")


def _check_repeated(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    """Two equal promotions on the same clusters are a slip; weights and waits may come back."""
    seen: dict[tuple[object, ...], int] = {}
    for step in pipeline:
        if step.kind.applies is not variant.Variant.PRIMARY:
            continue
        same = (step.name, step.options, step.targets)
        if same in seen:
            message = f"{step.name} is the same as stage {seen[same] + 1}"
            reading.warn((*path, step.index), message, "remove one of them")
        seen.setdefault(same, step.index)


def _share(step: pipelines.Stage, which: variant.Variant) -> int:
    if isinstance(
        step.options, traffic_stages.ProgressiveTrafficOptions | traffic_stages.BlueGreenOptions
    ):
        return _ALL * (which is variant.Variant.CANARY)
    if not isinstance(step.options, traffic_stages.TrafficOptions):
        return 0
    weights = {
        variant.Variant.PRIMARY: step.options.primary,
        variant.Variant.CANARY: step.options.canary,
        variant.Variant.BASELINE: step.options.baseline,
    }
    return weights[which]


def _check_fleet_shares(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    """Note traffic for canary on every cluster where some may have got none of it."""
    shared = False
    for stage in pipeline:
        options = stage.options
        if stage.kind.applies is variant.Variant.CANARY:
            of = options.of if isinstance(options, rollout_stages.VariantRolloutOptions) else None
            shared = of is stage_kind.Scope.FLEET
        elif stage.kind.removes is variant.Variant.CANARY:
            shared = False
        elif shared and _is_for_every_cluster(options):
            message = "a cluster without its share of canary cannot send traffic there"
            hint = "write of: fleet here too; where a cluster gets none, the run is refused"
            reading.warn((*path, stage.index), message, hint)


def _is_for_every_cluster(options: stage_kind.StageOptions) -> bool:
    if isinstance(options, traffic_stages.TrafficOptions):
        return options.canary > 0 and options.of is stage_kind.Scope.CLUSTER
    return isinstance(options, traffic_stages.ProgressiveTrafficOptions)
