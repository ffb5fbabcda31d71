"""From the waves of an application to those of a run: clusters, numbers and steps. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from volary.engine.runs import policies, run_builder
from volary.model import analysis, applications, errors, projects
from volary.model.fleet import fleets, selectors
from volary.model.pipeline import pipelines
from volary.model.placement import rollouts
from volary.placement.waves import planned_waves, wave_steps

_ON_FAILURE = {
    rollouts.OnWaveFailure.STOP: policies.OnFailure.STOP,
    # Failing clusters never fail the wave; what else does, such as a refused approval, stops.
    rollouts.OnWaveFailure.CONTINUE: policies.OnFailure.STOP,
    rollouts.OnWaveFailure.ROLLBACK_WAVE: policies.OnFailure.ROLLBACK_WAVE,
    rollouts.OnWaveFailure.ROLLBACK_ALL: policies.OnFailure.ROLLBACK,
}
_ON_UNREACHABLE = {
    rollouts.OnWaveUnreachable.WAIT: policies.OnUnreachable.WAIT,
    rollouts.OnWaveUnreachable.SKIP: policies.OnUnreachable.CONTINUE_WITHOUT,
    rollouts.OnWaveUnreachable.FAIL: policies.OnUnreachable.FAIL,
}


@dataclass(frozen=True, slots=True)
class RunWaves:
    """What the engine and people are told about the waves of a run."""

    rules: tuple[policies.WaveRule, ...] = ()
    steps: tuple[run_builder.WaveStep, ...] = ()
    #: For the whole run; None: the waves decide alone.
    failures: int | None = None
    unreachable: int | None = None
    warnings: tuple[str, ...] = ()
    #: When the clusters may be changed, with waves or without.
    windows: tuple[policies.WindowRule, ...] = ()

    def rules_with(self, on_failure: policies.OnFailure) -> tuple[policies.WaveRule, ...]:
        """Return the rules as the run's own has them: where it holds, a wave that fails does."""
        if on_failure is not policies.OnFailure.HOLD:
            return self.rules
        return tuple(replace(rule, on_failure=on_failure) for rule in self.rules)

    @property
    def lenient(self) -> frozenset[str]:
        """Clusters that may be unreachable when the run begins: their waves deal with it."""
        return frozenset(
            name
            for rule in self.rules
            if rule.on_unreachable is not policies.OnUnreachable.FAIL
            for name in rule.targets
        )


def plan_waves(
    application: applications.Application,
    clusters: Sequence[fleets.Cluster],
    stages: Sequence[pipelines.Stage],
    *,
    goes_back: bool = False,
    project: projects.Project | None = None,
) -> RunWaves:
    """Return the waves of a run over `clusters`; nothing for an application without.

    One that goes back takes the last wave first, and nothing holds it up: no gate, no window. The
    windows of the `project` hold besides the application's own, so none of these opens them.

    Raises:
        UserError: A cluster is in no wave, and the application says that this is refused.
    """
    wanted = application.waves
    windows = () if goes_back else windows_of(application, project, clusters)
    if not wanted.waves:
        return RunWaves(windows=windows)
    division = planned_waves.divide(wanted, clusters)
    if goes_back:
        division = planned_waves.rollback_order(division)
    _require_others(division)
    limits = wanted.budget
    return RunWaves(
        tuple(_rule(wave, application) for wave in division.waves),
        tuple(_step(step) for step in wave_steps.sequence(stages, division, wanted.over)),
        None if limits is None else limits.failures.of(len(clusters)),
        None if limits is None else limits.unreachable.of(len(clusters)),
        division.warnings,
        windows,
    )


def _require_others(division: planned_waves.Division) -> None:
    """Refuse a gate that compares with clusters of later waves when there are none.

    Raises:
        UserError: There are none.
    """
    for place, planned_wave in enumerate(division.waves):
        gate_analysis = planned_wave.wave.gate.analysis
        compares = gate_analysis is not None and any(
            rule.strategy is analysis.Strategy.NOT_UPDATED for rule in gate_analysis.metrics
        )
        if compares and not any(later.targets for later in division.waves[place + 1 :]):
            raise errors.user_error(
                f"the gate of wave {planned_wave.wave.name} compares with clusters that do not have"
                " the release yet, but no later wave has any",
                hint="give a later wave clusters, or use THRESHOLD or PREVIOUS there",
            )


def windows_of(
    application: applications.Application,
    project: projects.Project | None,
    clusters: Sequence[fleets.Cluster],
) -> tuple[policies.WindowRule, ...]:
    """Return the windows of an application, and those of its project, which are called so."""
    own = tuple(_windows(application.waves.windows, clusters))
    return own if project is None else (*own, *project_windows(project, clusters))


def project_windows(
    project: projects.Project, clusters: Sequence[fleets.Cluster]
) -> tuple[policies.WindowRule, ...]:
    """Return the windows of a project, called after it."""
    return tuple(
        replace(
            rule,
            window=replace(rule.window, name=f"{rule.window.name} of project {project.name}"),
            project=project.name,
        )
        for rule in _windows(project.windows, clusters)
    )


def _windows(
    windows: rollouts.Windows, clusters: Sequence[fleets.Cluster]
) -> Iterator[policies.WindowRule]:
    """Yield windows with the names of the clusters that they are for."""
    for deny, listed in ((False, windows.allow), (True, windows.deny)):
        for cluster_window in listed:
            targets = tuple(
                cluster.name
                for cluster in clusters
                if selectors.matches(cluster_window.selector, cluster)
            )
            if targets:
                yield policies.WindowRule(cluster_window.window, targets, deny)


def _rule(
    planned: planned_waves.PlannedWave, application: applications.Application
) -> policies.WaveRule:
    on_failure = _ON_FAILURE[planned.wave.on_failure]
    if not application.planner.auto_rollback:
        on_failure = policies.OnFailure.STOP
    return policies.WaveRule(
        planned.wave.name,
        planned.targets,
        planned.failures,
        planned.unreachable,
        on_failure,
        _ON_UNREACHABLE[planned.wave.on_unreachable],
        planned.concurrency,
    )


def _step(step: wave_steps.Step) -> run_builder.WaveStep:
    planned = step.wave
    # The clusters of a wave prove themselves together.
    proves = step.is_gate
    group = run_builder.Group(
        planned.targets,
        planned.wave.name,
        0 if proves else planned.concurrency,
        progress_deadline=None if proves else planned.wave.progress_deadline,
    )
    return run_builder.WaveStep(step.stage, group, planned.wave.name)
