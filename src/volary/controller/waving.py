"""From the waves of an application to those of a run: clusters, numbers and steps. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from volary.engine import plan as engine_plan
from volary.engine import rules as engine_rules
from volary.model import analysis, errors, fleet, placement, selection, stage
from volary.model import application as applications
from volary.placement import steps, waves

_ON_FAILURE = {
    placement.OnWaveFailure.STOP: engine_rules.OnFailure.STOP,
    # Failing clusters never fail the wave; what else does, such as a refused approval, stops.
    placement.OnWaveFailure.CONTINUE: engine_rules.OnFailure.STOP,
    placement.OnWaveFailure.ROLLBACK_WAVE: engine_rules.OnFailure.ROLLBACK_WAVE,
    placement.OnWaveFailure.ROLLBACK_ALL: engine_rules.OnFailure.ROLLBACK,
}
_ON_UNREACHABLE = {
    placement.OnWaveUnreachable.WAIT: engine_rules.OnUnreachable.WAIT,
    placement.OnWaveUnreachable.SKIP: engine_rules.OnUnreachable.CONTINUE_WITHOUT,
    placement.OnWaveUnreachable.FAIL: engine_rules.OnUnreachable.FAIL,
}


@dataclass(frozen=True, slots=True)
class Waves:
    """What the engine and people are told about the waves of a run."""

    rules: tuple[engine_rules.WaveRule, ...] = ()
    steps: tuple[engine_plan.Step, ...] = ()
    #: For the whole run; None: the waves decide alone.
    failures: int | None = None
    unreachable: int | None = None
    warnings: tuple[str, ...] = ()
    #: When the clusters may be changed, with waves or without.
    windows: tuple[engine_rules.WindowRule, ...] = ()

    def rules_with(self, on_failure: engine_rules.OnFailure) -> tuple[engine_rules.WaveRule, ...]:
        """Return the rules as the run's own has them: where it holds, a wave that fails does."""
        if on_failure is not engine_rules.OnFailure.HOLD:
            return self.rules
        return tuple(replace(each, on_failure=on_failure) for each in self.rules)

    @property
    def lenient(self) -> frozenset[str]:
        """Clusters that may be unreachable when the run begins: their waves deal with it."""
        return frozenset(
            name
            for each in self.rules
            if each.on_unreachable is not engine_rules.OnUnreachable.FAIL
            for name in each.targets
        )


def of(
    application: applications.Application,
    clusters: Sequence[fleet.Cluster],
    stages: Sequence[stage.Stage],
    *,
    goes_back: bool = False,
) -> Waves:
    """Return the waves of a run over `clusters`; nothing for an application without.

    One that goes back takes the last wave first, and nothing holds it up: no gate, no window.

    Raises:
        UserError: A cluster is in no wave, and the application says that this is refused.
    """
    wanted = application.waves
    windows = () if goes_back else tuple(_windows(wanted.windows, clusters))
    if not wanted.waves:
        return Waves(windows=windows)
    division = waves.divide(wanted, clusters)
    if goes_back:
        division = waves.way_back(division)
    _require_others(division)
    limits = wanted.budget
    return Waves(
        tuple(_rule(each, application) for each in division.waves),
        tuple(_step(each) for each in steps.sequence(stages, division, wanted.over)),
        None if limits is None else limits.failures.of(len(clusters)),
        None if limits is None else limits.unreachable.of(len(clusters)),
        division.warnings,
        windows,
    )


def _require_others(division: waves.Division) -> None:
    """Refuse a gate that compares with clusters of later waves when there are none.

    Raises:
        UserError: There are none.
    """
    for place, each in enumerate(division.waves):
        found = each.wave.gate.analysis
        compares = found is not None and any(
            rule.strategy is analysis.Strategy.NOT_UPDATED for rule in found.metrics
        )
        if compares and not any(later.targets for later in division.waves[place + 1 :]):
            raise errors.user_error(
                f"the gate of wave {each.wave.name} compares with clusters that do not have the"
                " release yet, but no later wave has any",
                hint="give a later wave clusters, or use THRESHOLD or PREVIOUS there",
            )


def _windows(
    windows: placement.Windows, clusters: Sequence[fleet.Cluster]
) -> Iterator[engine_rules.WindowRule]:
    """Yield the windows of a run with the names of the clusters that they are for."""
    for deny, listed in ((False, windows.allow), (True, windows.deny)):
        for each in listed:
            targets = tuple(
                cluster.name
                for cluster in clusters
                if each.selector is None or selection.matches(each.selector, cluster)
            )
            if targets:
                yield engine_rules.WindowRule(each.window, targets, deny)


def _rule(
    planned: waves.PlannedWave, application: applications.Application
) -> engine_rules.WaveRule:
    on_failure = _ON_FAILURE[planned.wave.on_failure]
    if not application.planner.auto_rollback:
        on_failure = engine_rules.OnFailure.STOP
    return engine_rules.WaveRule(
        planned.wave.name,
        planned.targets,
        planned.failures,
        planned.unreachable,
        on_failure,
        _ON_UNREACHABLE[planned.wave.on_unreachable],
        planned.concurrency,
    )


def _step(step: steps.Step) -> engine_plan.Step:
    planned = step.wave
    # The clusters of a wave prove themselves together.
    proves = step.is_gate
    group = engine_plan.Group(
        planned.targets,
        planned.wave.name,
        0 if proves else planned.concurrency,
        progress_deadline=None if proves else planned.wave.progress_deadline,
    )
    return engine_plan.Step(step.stage, group, planned.wave.name)
