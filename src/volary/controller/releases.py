"""From a want to a run that can begin, and from a stored run to one that goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.clusters import pool
from volary.controller import (
    absences,
    contents,
    dividing,
    inputs,
    origins,
    preflight,
    preparation,
    projects,
    renditions,
    secrecy,
    standings,
    wants,
)
from volary.engine import plan as engine_plan
from volary.engine import rules, state, update
from volary.manifests import masking
from volary.model import application as applications
from volary.model import clock as clocks
from volary.model import errors, manifest, plan, stage
from volary.sources import render as renderers
from volary.stages import circumstances, meters
from volary.stages import executor as stage_executor

_LONGEST_ROLLBACK = timedelta(minutes=30)


class NotNowError(errors.TemporaryError):
    """The release cannot begin as things are; it may later."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an application lives."""

    name: str
    repository: str
    #: Its file, relative to the root.
    path: str
    branch: str = ""
    #: The clusters it is for, when whoever runs the controller says so.
    targets: applications.TargetSelector | None = None


@dataclass(slots=True)
class Desk:
    """What planning works with; one per process."""

    repositories: inputs.Repositories
    clusters: pool.Pool
    clock: clocks.Clock
    renderer: renderers.Renderer = field(default_factory=renderers.Renderer)
    secrets: secrecy.Secrets = field(default_factory=secrecy.Secrets)
    #: How long a cluster may take to answer while a run is prepared.
    patience: timedelta = preflight.PATIENCE
    executor_options: stage_executor.Options = field(default_factory=stage_executor.Options)
    #: Where metrics are kept.
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    #: Where repositories are, by name, as scripts may know it.
    addresses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Release:
    """A run with everything that carries it out."""

    run: state.Run
    performer: stage_executor.ClusterExecutor
    masker: masking.Masker
    origin: origins.Origin


async def open_place(desk: Desk, place: Place, commit: str) -> projects.Project:
    """Open an application at a commit.

    Raises:
        errors.UserError: The commit or the file is not there, or the file has errors.
    """
    repository = await desk.repositories.repository(place.repository)
    opened = await projects.open_pinned(repository, place.path, commit, name=place.name)
    return projects.with_targets(opened, place.targets)


async def prepare(
    desk: Desk,
    place: Place,
    want: wants.Want,
    remembered: str,
    standing: standings.Standing,
) -> preparation.Prepared:
    """Find out everything about a wanted run; writes nothing.

    `remembered` is the last commit that succeeded everywhere; how the application stands says
    what single clusters run instead, and who has how many replicas.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    project = await open_place(desk, place, want.commit)
    away = absences.why_wait(project.application, desk.clusters.fleet)
    if away and want.kind is not wants.Kind.ROLLBACK:
        raise NotNowError(away)
    wish = preparation.Wish(
        place.path,
        commit=project.commit,
        strategy=want.strategy,
        remembered=remembered,
        kept=standing.kept,
        assigned=standing.assigned,
        assigned_before=standing.assigned_before,
        placed=standing.placed,
        patience=desk.patience,
        goes_back=want.kind is wants.Kind.ROLLBACK,
    )
    prepared = await preparation.prepare(wish, desk.clusters, project, renderer=desk.renderer)
    refuse_scripts(prepared.plan.stages, allowed=desk.executor_options.permissions.scripts)
    return prepared


def refuse_scripts(stages: Sequence[stage.Stage], *, allowed: bool) -> None:
    """Refuse a plan with scripts where none are run; a stage is not left out in silence.

    Raises:
        errors.UserError: There is one.
    """
    if allowed:
        return
    found = [each.index + 1 for each in stages if each.name is stage.StageName.SCRIPT_RUN]
    if found:
        raise errors.user_error(
            f"stage {found[0]} is a {stage.StageName.SCRIPT_RUN.value}, and this server runs no"
            " scripts",
            hint="remove the stage, or let who runs the server write `scripts: allow` into its"
            " settings: whoever may push then runs programs there",
        )


async def try_out(desk: Desk, prepared: preparation.Prepared) -> tuple[preflight.Trial, ...]:
    """Ask every cluster whether it would take all that is going to be applied.

    Raises:
        errors.UserError: One of them would not.
        NotNowError: One of them cannot be asked.
    """
    trials = await preflight.look(prepared, desk.clusters, patience=desk.patience)
    found = preflight.problems(trials)
    if found:
        raise errors.UserError(*found)
    silent = preflight.silent(trials)
    if prepared.wish.on_unreachable is rules.OnUnreachable.FAIL:
        missing = [why for name, why in silent.items() if name not in prepared.waves.lenient]
        if missing:
            raise NotNowError("; ".join(missing))
    return trials


async def release(
    desk: Desk, place: Place, want: wants.Want, prepared: preparation.Prepared
) -> Release:
    """Return the new run of a prepared want.

    Raises:
        errors.UserError: There is nothing to do.
    """
    trials = await try_out(desk, prepared)
    run = engine_plan.new_run(want.id, plan_of(prepared), desk.clock.now())
    for target, reason in preflight.silent(trials).items():
        # Of a wave with a rule for it, a cluster may be back when its turn comes.
        if target not in prepared.waves.lenient:
            run = leave_unreachable(run, target, reason)
    both = (prepared.manifests, prepared.old_manifests)
    return Release(
        run,
        performer(
            desk,
            prepared.project.application,
            prepared.rendering,
            around(desk, place.repository, want.by or want.author, prepared.plan.summary),
        ),
        masker(desk, *both),
        await _origin(desk, place, want, prepared),
    )


async def take_up(desk: Desk, name: str, run: state.Run, origin: origins.Origin) -> Release:
    """Return a stored run, ready to go on from where it was left.

    Raises:
        errors.UserError: What it is pinned to cannot be opened any more.
        errors.TemporaryError: It may work later.
    """
    place = Place(name, origin.repository, origin.path, origin.branch)
    project = await open_place(desk, place, run.commit)
    again = await preparation.reopen(
        project,
        {name: run.goes_back_to(name) for name in run.targets},
        desk.renderer,
        desk.clusters.fleet,
        dividing.Numbers(origin.assigned, origin.assigned_before),
    )
    return of_plan(desk, project.application, again, run, origin)


def of_plan(
    desk: Desk,
    application: applications.Application,
    opened: preparation.Reopened,
    run: state.Run,
    origin: origins.Origin,
) -> Release:
    """Return a run whose plan stands, with everything that carries it out."""
    return Release(
        run,
        performer(
            desk,
            application,
            opened.rendering,
            around(desk, origin.repository, origin.by or origin.author, origin.summary),
        ),
        masker(desk, opened.manifests, opened.old_manifests),
        origin,
    )


def origin_of(
    place: Place, want: wants.Want, project: projects.Project, targets: Sequence[str]
) -> origins.Origin:
    """Return why the run of a want exists, before what is particular to its kind."""
    return origins.Origin(
        repository=place.repository,
        path=place.path,
        branch=place.branch,
        subject=project.subject,
        author=want.author,
        kind=want.kind.value,
        reason=want.reason,
        by=want.by,
        summary=want.reason,
        targets=tuple(targets),
    )


async def takes_back(desk: Desk, place: Place, commit: str, run: state.Run) -> bool:
    """Say whether `commit` is, in content, what ran before `run`, and not what `run` brings.

    Compared is what is rendered for the run's clusters, so a revert together with changes
    elsewhere in the repository counts, and a change of a shared base does not pass unnoticed.
    """
    if not run.running_commit or commit == run.commit:
        return False
    try:
        before = await _digests(desk, place, run.running_commit, run.targets)
        return (
            await _digests(desk, place, commit, run.targets) == before
            and await _digests(desk, place, run.commit, run.targets) != before
        )
    except errors.UserError:
        return False


async def _digests(
    desk: Desk, place: Place, commit: str, targets: Sequence[str]
) -> Mapping[str, str]:
    """Return what an application's manifests hash to at a commit, by target.

    Raises:
        errors.UserError: It cannot be rendered.
    """
    project = await open_place(desk, place, commit)
    return await contents.digests(desk.renderer, project, targets, desk.clusters.fleet)


def masker(desk: Desk, *sides: Mapping[str, Sequence[manifest.Manifest]]) -> masking.Masker:
    """Return a masker that knows the secrets of the manifests and of the controller."""
    made = desk.secrets.masker()
    for side in sides:
        for manifests in side.values():
            made.learn(manifests)
    return made


def plan_of(prepared: preparation.Prepared, *, can_hold: bool = True) -> engine_plan.Plan:
    """Return what the engine makes a run from.

    Where nobody can be asked (`can_hold` is false) a failure is never held for a person.
    """
    application, wish = prepared.project.application, prepared.wish
    on_failure = _on_failure(application.planner, can_hold=can_hold)
    limit = wish.timeout or application.timeout
    return engine_plan.Plan(
        application=application.name,
        commit=prepared.project.commit,
        groups=engine_plan.one_group(prepared.plan.targets, concurrency=wish.concurrency),
        stages=prepared.plan.stages,
        running_commit=prepared.running.commit,
        running_commits=prepared.running.others,
        policy=rules.Policy(
            on_failure=on_failure,
            on_unreachable=wish.on_unreachable,
            stop_reason="autoRollback is off" if on_failure is rules.OnFailure.STOP else "",
            timeout=limit,
            rollback_timeout=min(limit, _LONGEST_ROLLBACK),
            failures=prepared.waves.failures,
            unreachable=prepared.waves.unreachable,
        ),
        waves=prepared.waves.rules_with(on_failure),
        steps=prepared.waves.steps,
        windows=prepared.waves.windows,
        absent=prepared.absent,
    )


def _on_failure(planner: applications.Planner, *, can_hold: bool) -> rules.OnFailure:
    if planner.hold_on_failure and can_hold:
        return rules.OnFailure.HOLD
    return rules.OnFailure.ROLLBACK if planner.auto_rollback else rules.OnFailure.STOP


def leave_unreachable(run: state.Run, target: str, reason: str) -> state.Run:
    """Return a run that goes without a cluster that was not there when it was prepared."""
    why = f"unreachable: {reason}"
    return update.leave_out(run, target, why, state.LeftOut.UNREACHABLE)


def wanted_strategy(word: str) -> plan.Strategy | None:
    """Read a strategy as people name it; empty: the planner decides.

    Raises:
        errors.UserError: It is none.
    """
    if not word:
        return None
    known = {"quick": plan.Strategy.QUICK_SYNC, **{each.value: each for each in plan.Strategy}}
    if word not in known:
        raise errors.user_error(f"{word} is no strategy", hint="quick or pipeline")
    return known[word]


def around(
    desk: Desk, repository: str, commander: str, summary: str
) -> circumstances.Circumstances:
    """Return what scripts are told about a run."""
    address = desk.addresses.get(repository, repository)
    return circumstances.Circumstances(commander, address, summary)


def performer(
    desk: Desk,
    application: applications.Application,
    rendering: renditions.Rendering,
    run: circumstances.Circumstances,
) -> stage_executor.ClusterExecutor:
    """Return what carries out the stages of a run."""
    return stage_executor.ClusterExecutor(
        application,
        desk.clusters,
        rendering.render,
        desk.clock,
        desk.executor_options,
        replace(run, checkout=rendering.checkout),
        meter=desk.meter,
        render_before=rendering.render_before,
    )


async def _origin(
    desk: Desk, place: Place, want: wants.Want, made: preparation.Prepared
) -> origins.Origin:
    return replace(
        origin_of(place, want, made.project, made.plan.targets),
        reason=wants.reason_of(want, made.project.subject),
        strategy=made.plan.strategy.value,
        summary=made.plan.summary,
        digests=await contents.digests(
            desk.renderer,
            made.project,
            made.plan.targets,
            desk.clusters.fleet,
            made.numbers.now,
        ),
        warnings=tuple(str(each) for each in made.warnings),
        chosen=made.chosen,
        assigned=made.numbers.now,
        assigned_before=made.numbers.before,
    )
