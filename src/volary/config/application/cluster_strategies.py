"""``strategies``: clusters of one application that take different pipelines.

A cluster gets the first strategy that it matches. A run has one list of stages: those
of the first strategy, then those of the second, each limited to its own clusters. So a
release that fails in the first strategy never reaches the clusters of the second, and a
rollback rolls back all that the run has touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from volary.config.application import application_sections
from volary.config.decoding import base_sections, readings
from volary.config.placement import wave_rules
from volary.config.stages import pipelines
from volary.config.text import yaml
from volary.model import applications, routing_options
from volary.model.fleet import fleets, selectors
from volary.model.pipeline import pipelines as pipeline_pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

PATH: yaml.Path = ("spec", "strategies")
#: Of the stages of an application without strategies.
STAGES: yaml.Path = ("spec", "pipeline", "stages")


def convert(
    reading: readings.Reading,
    entries: Sequence[application_sections.Strategy],
    quick_sync: rollout_stages.SyncOptions,
    method: routing_options.RoutingMethod,
) -> tuple[tuple[applications.Strategy, ...], tuple[pipeline_pipelines.Stage, ...]]:
    """Return the strategies and the stages of all, one strategy after another."""
    if reading.written(STAGES[:-1]) is not None:
        hint = "move the pipeline into a last strategy without targets"
        reading.error(STAGES[:-1], "pipeline and strategies are both given", hint)
    strategies: list[applications.Strategy] = []
    stages: list[pipeline_pipelines.Stage] = []
    first = 0
    for i, entry in enumerate(entries):
        strategy = base_sections.value_of(applications.Strategy, entry)
        _check(reading, strategy, strategies, (*PATH, i), is_last=i == len(entries) - 1)
        strategies.append(strategy)
        for stage in _stages(reading, entry, quick_sync, method, i):
            stages.append(replace(stage, index=first + stage.index, strategy=strategy.name))
        first += max(1, len(entry.pipeline.stages))
    return tuple(strategies), tuple(stages)


def _stages(
    reading: readings.Reading,
    entry: application_sections.Strategy,
    quick_sync: rollout_stages.SyncOptions,
    method: routing_options.RoutingMethod,
    index: int,
) -> tuple[pipeline_pipelines.Stage, ...]:
    if not entry.pipeline.stages:
        return (pipeline_pipelines.Stage(rollout_stages.SYNC.name, quick_sync),)
    return pipelines.convert(reading, entry.pipeline.stages, method, _list(index))


def _check(
    reading: readings.Reading,
    read: applications.Strategy,
    above: Sequence[applications.Strategy],
    path: yaml.Path,
    *,
    is_last: bool,
) -> None:
    if read.name in {strategy.name for strategy in above}:
        reading.error((*path, "name"), f"the strategy {read.name} is listed twice")
    if read.targets == applications.TargetSelector() and not is_last:
        message = f"{read.name} takes every cluster, none is left for the strategies below it"
        reading.error(path, message, "add targets, or move it to the end")
    wave_rules.check_targets(reading, read.targets, (*path, "targets"))


def assign(
    app: applications.Application, clusters: Iterable[fleets.Cluster]
) -> Mapping[str, tuple[str, ...]]:
    """Return the names of each strategy's clusters, in the given order.

    A cluster is its first matching strategy's; one that matches none is left out.
    """
    assigned: dict[str, list[str]] = {strategy.name: [] for strategy in app.strategies}
    for cluster in clusters:
        fitting = (
            strategy for strategy in app.strategies if selectors.matches(strategy.targets, cluster)
        )
        assigned_strategy = next(fitting, None)
        if assigned_strategy is not None:
            assigned[assigned_strategy.name].append(cluster.name)
    return {name: tuple(members) for name, members in assigned.items()}


def lists(
    app: applications.Application,
) -> list[tuple[yaml.Path, tuple[pipeline_pipelines.Stage, ...]]]:
    """Return every list of stages with its path: one, or one of each strategy.

    The index of a stage is that in its own list. None where two strategies have one name, as
    their stages cannot be told apart.
    """
    if not app.strategies:
        return [(STAGES, app.pipeline)]
    if len({strategy.name for strategy in app.strategies}) < len(app.strategies):
        return []
    return [(_list(i), _own(app, strategy)) for i, strategy in enumerate(app.strategies)]


def _own(
    app: applications.Application, strategy: applications.Strategy
) -> tuple[pipeline_pipelines.Stage, ...]:
    stages = [stage for stage in app.pipeline if stage.strategy == strategy.name]
    return tuple(replace(stage, index=stage.index - stages[0].index) for stage in stages)


def written(reading: readings.Reading) -> list[yaml.Path]:
    """Return the path of every list of stages that a file may have, read or not."""
    entries = reading.written(PATH)
    count = len(entries) if isinstance(entries, list) else 0
    return [STAGES, *(_list(i) for i in range(count))]


def where(app: applications.Application, stage: pipeline_pipelines.Stage) -> yaml.Path:
    """Return the path of a stage of an application whose stages could all be read."""
    if not app.strategies:
        return (*STAGES, stage.index)
    names = [strategy.name for strategy in app.strategies]
    first = next(other.index for other in app.pipeline if other.strategy == stage.strategy)
    return (*_list(names.index(stage.strategy)), stage.index - first)


def _list(index: int) -> yaml.Path:
    return (*PATH, index, "pipeline", "stages")
