"""Shares of the whole fleet in a run's stages: who gets how much, fixed when the run is prepared.

Clusters that carry a stage out together share it: with waves over the pipeline those of one wave,
else all that the stage visits. Of the traffic of all of them, each is taken to have as much as
it has of primary's pods: nobody measures that before anything has begun.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from volary.model import applications, errors, phrases
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.model.placement import rollouts
from volary.placement.waves import fleet_batches, planned_waves
from volary.planner import targets as target_choice

#: Pods of primary by cluster, then by workload as ``Deployment web``.
Counts = Mapping[str, Mapping[str, int]]
Options = TypeVar("Options", rollout_stages.VariantRolloutOptions, traffic_stages.TrafficOptions)

#: Clusters that are named in a description.
_MOST_NAMED = 8
_ALL = 100


def needs_shares(stages: Sequence[pipelines.Stage]) -> bool:
    """Say whether any stage is a share of the fleet."""
    return any(_of(stage) is stage_kind.Scope.FLEET for stage in stages)


def fix_shares(
    application: applications.Application,
    stages: Sequence[pipelines.Stage],
    clusters: Sequence[fleets.Cluster],
    counts: Counts,
) -> tuple[pipelines.Stage, ...]:
    """Return the stages with what each cluster gets of the shares of the fleet.

    Args:
        application: Whose pipeline it is.
        stages: Of the run, in order.
        clusters: Of the run.
        counts: What primary has on each of them.

    Raises:
        UserError: A share cannot be reached, or a stage needs canary on clusters without.
    """
    if not needs_shares(stages):
        return tuple(stages)
    pinning = _ShareCalculation(application, tuple(_groups(application, clusters)), counts)
    return tuple(pinning.take(stage) for stage in stages)


def _of(stage: pipelines.Stage) -> stage_kind.Scope:
    if isinstance(
        stage.options, rollout_stages.VariantRolloutOptions | traffic_stages.TrafficOptions
    ):
        return stage.options.of
    return stage_kind.Scope.CLUSTER


def _groups(
    application: applications.Application, clusters: Sequence[fleets.Cluster]
) -> Iterator[tuple[str, ...]]:
    """Yield the clusters that go through the pipeline together."""
    wanted = application.waves
    if wanted.waves and wanted.over is rollouts.WavesOver.PIPELINE:
        for planned_wave in planned_waves.divide(wanted, clusters).waves:
            yield planned_wave.targets
    else:
        yield tuple(cluster.name for cluster in clusters)


@dataclass(slots=True)
class _ShareCalculation:
    application: applications.Application
    groups: Sequence[Sequence[str]]
    counts: Counts
    #: Pods of a variant by cluster, as far as they are a share of the fleet.
    pods: dict[variant.Variant, dict[str, int]] = field(default_factory=dict)

    def take(self, stage: pipelines.Stage) -> pipelines.Stage:
        """Return a stage with its shares, and remember what it leaves."""
        which = stage.kind.applies
        if stage.kind.removes is not None:
            self.pods.pop(stage.kind.removes, None)
        match stage.options:
            case rollout_stages.VariantRolloutOptions() as options if which is not None:
                return self._rolled_out(stage, options, which)
            case traffic_stages.TrafficOptions(of=stage_kind.Scope.FLEET) as options:
                return self._divided(stage, options)
            case traffic_stages.TrafficOptions(canary=canary, baseline=baseline):
                self._require(stage, variant.Variant.CANARY, needed=canary > 0)
                self._require(stage, variant.Variant.BASELINE, needed=baseline > 0)
            case traffic_stages.ProgressiveTrafficOptions() | traffic_stages.BlueGreenOptions():
                self._require(stage, variant.Variant.CANARY, needed=True)
        return self._measured(stage)

    def _rolled_out(
        self,
        stage: pipelines.Stage,
        options: rollout_stages.VariantRolloutOptions,
        which: variant.Variant,
    ) -> pipelines.Stage:
        if options.of is stage_kind.Scope.CLUSTER:
            self.pods.pop(which, None)
            return stage
        batch: dict[str, dict[str, int]] = {}
        for group in self._visited(stage):
            for name, cluster_counts in self._batch(stage, options, group).items():
                batch[name] = cluster_counts
        totals = {name: sum(counts.values()) for name, counts in batch.items()}
        self.pods[which] = {**self.pods.get(which, {}), **totals}
        told = f"{options.replicas} of the fleet's pods: {_listed(totals)}"
        return _with_explanation(stage, replace(options, batch=batch), told)

    def _batch(
        self,
        stage: pipelines.Stage,
        options: rollout_stages.VariantRolloutOptions,
        group: Sequence[str],
    ) -> dict[str, dict[str, int]]:
        batch: dict[str, dict[str, int]] = {name: {} for name in group}
        workloads = dict.fromkeys(title for name in group for title in self.counts[name])
        for title in workloads:
            held = {name: self.counts[name].get(title, 0) for name in group}
            wanted = options.replicas or rollout_stages.Replicas(1)
            with _named(stage, title):
                divided = fleet_batches.pods(wanted, held, options.at_most)
            for name, count in divided.items():
                batch[name][title] = count
        return batch

    def _divided(
        self, stage: pipelines.Stage, options: traffic_stages.TrafficOptions
    ) -> pipelines.Stage:
        shares: dict[str, tuple[int, int]] = {}
        reached = []
        for group in self._visited(stage):
            load = {name: sum(self.counts[name].values()) for name in group}
            with _named(stage):
                canary = self._traffic(variant.Variant.CANARY, options.canary, load)
                left = {name: _ALL - weight for name, weight in canary.weights.items()}
                baseline = self._traffic(variant.Variant.BASELINE, options.baseline, load, left)
            for name in group:
                shares[name] = (canary.weights[name], baseline.weights[name])
            reached.append(canary.told)
        listed = _listed({name: canary for name, (canary, _) in shares.items()}, " %")
        told = f"{options.canary} % of all traffic to canary ({', '.join(reached)}): {listed}"
        return _with_explanation(stage, replace(options, shares=shares), told)

    def _traffic(
        self,
        which: variant.Variant,
        wanted: int,
        load: Mapping[str, int],
        limits: Mapping[str, int] | None = None,
    ) -> fleet_batches.Traffic:
        # A variant that was rolled out on every cluster for itself is everywhere alike.
        return fleet_batches.traffic(wanted, load, self.pods.get(which, load), limits)

    def _visited(self, stage: pipelines.Stage) -> Iterator[Sequence[str]]:
        for group in self.groups:
            visited = target_choice.of_stage(stage, group)
            if visited:
                yield visited

    def _without(self, stage: pipelines.Stage, which: variant.Variant) -> tuple[str, ...]:
        pods = self.pods.get(which)
        if pods is None:
            return ()
        visited = [name for group in self._visited(stage) for name in group]
        return tuple(name for name in visited if not pods.get(name, 0))

    def _require(self, stage: pipelines.Stage, which: variant.Variant, *, needed: bool) -> None:
        missing = self._without(stage, which) if needed else ()
        if missing:
            raise errors.user_error(
                f"stage {stage.index + 1}, {stage.name}, sends traffic to {which.value} on"
                f" every cluster, and {phrases.first_of(missing, _MOST_NAMED)} got none of the"
                " fleet's share",
                hint="write of: fleet there too, or give every cluster one: replicas without of",
            )

    def _measured(self, stage: pipelines.Stage) -> pipelines.Stage:
        """Return a stage that measures, with the clusters on which there is nothing to measure."""
        missing = self._without(stage, variant.Variant.CANARY)
        if not missing:
            return stage
        if isinstance(stage.options, waiting_stages.AnalysisOptions):
            stage = replace(stage, options=replace(stage.options, without_canary=missing))
        if stage.beside is not None:
            stage = replace(stage, beside=replace(stage.beside, without_canary=missing))
        return stage


@contextlib.contextmanager
def _named(stage: pipelines.Stage, workload: str = "") -> Iterator[None]:
    """Say which stage, and of which workload, an error is about."""
    what = f"stage {stage.index + 1}, {stage.name}" + (f", {workload}" if workload else "")
    try:
        yield
    except errors.UserError as error:
        first = error.problems[0]
        raise errors.user_error(f"{what}: {first.message}", hint=first.hint) from error


def _with_explanation(stage: pipelines.Stage, options: Options, told: str) -> pipelines.Stage:
    text = f"{stage.description}: {told}" if stage.description else told
    return replace(stage, options=options, description=text)


def _listed(numbers: Mapping[str, int], unit: str = "") -> str:
    parts = (f"{name} {number}{unit}" for name, number in numbers.items())
    return phrases.first_of(parts, _MOST_NAMED)
