"""From the options of a run to its plan: sources, manifests, and the running commit."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.clusters.client import client_pool
from volary.concurrency import work_threads
from volary.config.application import cluster_strategies
from volary.config.placement import wave_rules
from volary.controller.planning import (
    checkouts,
    cluster_questions,
    fleet_shares,
    opened_applications,
    planned_manifests,
    project_checks,
    recognition,
    replica_assignment,
    run_renderer,
    run_sources,
    run_waves,
    running_commit,
    target_selection,
)
from volary.engine.runs import policies
from volary.model import applications, errors, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership
from volary.model.runs import run_plans
from volary.placement.failover import situations
from volary.placement.replicas import assignment
from volary.planner import plans
from volary.planner import targets as target_choice
from volary.sources.rendering import renderers
from volary.tenancy import restrictions

Manifests = run_renderer.Manifests


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for."""

    path: str
    app: str = ""
    commit: str = ""
    #: The commit that runs, `running_commit.NONE`, or empty: found out.
    running: str = ""
    fleet: str = ""
    contexts: str = ""
    #: None: the application's own.
    timeout: timedelta | None = None
    strategy: run_plans.Strategy | None = None
    on_unreachable: policies.OnUnreachable = policies.OnUnreachable.FAIL
    #: How many clusters at once; 0: all.
    concurrency: int = 0
    allow_mass_deletion: bool = False
    #: The last commit that succeeded, as the caller remembers it; empty: it knows of none.
    remembered: str = ""
    #: What single clusters run instead, likewise.
    kept: Mapping[str, str] = field(default_factory=dict)
    #: Whose its objects are, by target, likewise; clusters that say something else count more.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: Where the application is, as the caller remembers it; nothing: the fleet alone decides.
    placed: situations.PlacementState = field(default_factory=situations.PlacementState)
    #: Who has how many replicas, likewise; None: the clusters say.
    assigned: assignment.Assignment | None = None
    #: Who had how many before that, when it is gone back; taken as it was where it still fits.
    assigned_before: assignment.Assignment = assignment.EMPTY
    #: How long a cluster may take to say what runs there, or what it would take.
    patience: timedelta = cluster_questions.PATIENCE
    #: To a commit that ran before: waves in reverse order, without gates and windows.
    goes_back: bool = False


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """Everything that is known before anything is written."""

    options: RunOptions
    opened: opened_applications.OpenedApplication
    members: fleets.Fleet
    plan: run_plans.Plan
    running: running_commit.RunningCommits
    rendering: run_renderer.RunRenderer
    #: By target, of both sides: what secrets are learned from.
    manifests: Mapping[str, Sequence[manifest.Manifest]]
    old_manifests: Mapping[str, Sequence[manifest.Manifest]]
    warnings: tuple[errors.Problem, ...]
    waves: run_waves.RunWaves = field(default_factory=run_waves.RunWaves)
    #: Clusters that the application is on, also those that take nothing new now.
    chosen: tuple[str, ...] = ()
    #: Who takes nothing new now, and why.
    absent: str = ""
    #: Whose the application's objects are, by target.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: Clusters that did not answer, with the reason of each; they are not asked again.
    silent: Mapping[str, str] = field(default_factory=dict)
    #: What it may do; None: everything.
    project: projects.Project | None = None

    def application_on(self, target: str) -> applications.Application:
        """Return the application as its stages see it on a target."""
        return replace(self.opened.application, known_owner=self.owners.get(target))

    @property
    def numbers(self) -> replica_assignment.ReplicaNumbers:
        """Who gets how many replicas, and who had."""
        return self.rendering.numbers


async def prepare(
    options: RunOptions,
    clusters: client_pool.FleetClients,
    opened: opened_applications.OpenedApplication,
    *,
    renderer: renderers.Renderer | None = None,
    told: Callable[[str], None] = lambda _: None,
    project: projects.Project | None = None,
) -> PreparedRun:
    """Find out everything and decide; writes nothing.

    A process that prepares often passes one `renderer`, which remembers what it rendered. `told`
    is given a sentence with the clusters that are waited for. What the `project` does not permit
    is refused before anything is read from a cluster but the kinds that it serves.

    Raises:
        errors.UserError: Something has to be mended first; all problems of a step at once.
    """
    application, loaded = opened.application, opened.loaded
    forbidden = project_checks.of_application(project, application, clusters.fleet)
    seen = project_checks.seen_fleet(project, clusters.fleet)
    selection = target_choice.select(application, seen, document=loaded.document, base=loaded.base)
    selection, placed = target_selection.narrow(
        application, selection, options.placed, seen, loaded.document
    )
    renderer = renderer or renderers.Renderer()
    questions = cluster_questions.ClusterQuestions(clusters, options.patience, told=told)
    if project is not None:
        await _refuse_forbidden(project, forbidden, opened, selection, questions, renderer)
    names = tuple(cluster.name for cluster in selection.require())
    recognised = await recognise(opened, questions, names, renderer, remembered=options.owners)
    sides = {opened.commit: run_sources.of(opened)}
    rendering = run_renderer.RunRenderer(sides, renderer, clusters.fleet, new=opened.commit)
    rendering.numbers = await _numbers(options, questions, rendering, recognised)
    manifests = await _each(rendering.render, opened.commit, names)
    running = await _running(options, questions, opened, manifests, recognised)
    warnings = [*opened.warnings, *selection.warnings, *rendering.numbers.warnings]
    before = {name: running.of(name) for name in names}
    sides.update(await run_sources.of_running(opened, before.values()))
    old, missing = await _render_known(rendering, before)
    rendering.settle(manifests, old, before)
    warnings += missing
    decided = await work_threads.run(
        f"comparing the manifests of {application.name}",
        plans.make,
        application,
        running={name: old.get(name) for name in names},
        target=manifests,
        subject=opened.subject,
        forced=options.strategy,
        assigned=cluster_strategies.assign(application, selection.targets),
    )
    chosen = await work_threads.run(
        f"matching the changed paths of {application.name}",
        plans.skip_stages,
        decided,
        subject=opened.subject,
        changed=await _changed(opened, running.commit),
    )
    warnings += await work_threads.run(
        f"comparing the manifests of {application.name}",
        checkouts.check,
        application,
        recognised,
        old,
        manifests,
        prunes=any(getattr(stage.options, "prune", False) for stage in chosen.stages),
    )
    project_checks.refuse_stages(project, chosen.stages)
    if fleet_shares.needs_shares(chosen.stages):
        counts = await replica_assignment.read_primary_pods(questions, application, manifests)
        pinned = fleet_shares.fix_shares(application, chosen.stages, selection.targets, counts)
        chosen = replace(chosen, stages=pinned)
    try:
        moved = await work_threads.run(
            f"planning the waves of {application.name}",
            run_waves.plan_waves,
            application,
            selection.targets,
            chosen.stages,
            goes_back=options.goes_back,
            project=project,
        )
    except errors.UserError as error:
        raise loaded.located(error, wave_rules.PATH) from error
    warnings += [
        errors.Problem(warning, severity=errors.Severity.WARNING) for warning in moved.warnings
    ]
    return PreparedRun(
        options,
        opened,
        clusters.fleet,
        chosen,
        running,
        rendering,
        manifests,
        old,
        tuple(warnings),
        moved,
        placed,
        selection.absence,
        {name: known.owner for name, known in recognised.items()},
        questions.silent,
        project,
    )


async def _refuse_forbidden(
    project: projects.Project,
    forbidden: Sequence[errors.Problem],
    opened: opened_applications.OpenedApplication,
    selection: target_choice.Selection,
    questions: cluster_questions.ClusterQuestions,
    renderer: renderers.Renderer,
) -> None:
    """Refuse what a project does not permit, all of it at once.

    Clusters that it may not deploy to are asked nothing.

    Args:
        project: Whose the application is.
        forbidden: What is wrong with the application's file.
        opened: The application.
        selection: The clusters that the project permits.
        questions: Asks them.
        renderer: Makes what they would get, but for numbers of replicas that they decide.

    Raises:
        restrictions.NotPermittedError: With every problem, some of them the project's.
        errors.UserError: With every problem, none of them the project's.
    """
    problems = dict.fromkeys(forbidden)
    is_projects = bool(forbidden)
    if not forbidden:
        selection.require()
    sides = {opened.commit: run_sources.of(opened)}
    rendering = run_renderer.RunRenderer(
        sides, renderer, questions.clusters.fleet, new=opened.commit
    )
    try:
        manifests = await _each(rendering.render, opened.commit, selection.names)
        await project_checks.refuse_objects(project, questions, opened.application, manifests)
    except errors.UserError as error:
        problems.update(dict.fromkeys(error.problems))
        is_projects = is_projects or isinstance(error, restrictions.NotPermittedError)
    if problems:
        raise (restrictions.NotPermittedError if is_projects else errors.UserError)(*problems)


async def recognise(
    opened: opened_applications.OpenedApplication,
    questions: cluster_questions.ClusterQuestions,
    names: Sequence[str],
    renderer: renderers.Renderer,
    *,
    remembered: Mapping[str, ownership.Owner],
) -> dict[str, recognition.Recognised]:
    """Find out, by target, which of the applications that it knows is the opened one.

    Raises:
        errors.UserError: That cannot be told, or the commit cannot be rendered.
    """
    rendering = run_renderer.RunRenderer(
        {opened.commit: run_sources.of(opened)},
        renderer,
        questions.clusters.fleet,
        new=opened.commit,
    )
    manifests = await _each(rendering.undivided, opened.commit, names)
    observed = await recognition.observe(questions, opened.application, manifests)
    history = recognition.History(opened.commit, opened.holds, opened.describes)
    return {
        known.target: await recognition.recognise(
            opened.application, known, history, remembered.get(known.target)
        )
        for known in observed
    }


@dataclass(frozen=True, slots=True)
class ReopenedRun:
    """What an earlier process had prepared, as far as carrying on needs it."""

    rendering: run_renderer.RunRenderer
    #: By target, of both sides: what secrets are learned from, also where it is not as planned.
    manifests: Mapping[str, Sequence[manifest.Manifest]]
    old_manifests: Mapping[str, Sequence[manifest.Manifest]]


async def reopen(
    opened: opened_applications.OpenedApplication,
    running: Mapping[str, str],
    renderer: renderers.Renderer,
    members: fleets.Fleet,
    numbers: replica_assignment.ReplicaNumbers,
    planned: planned_manifests.Planned,
) -> ReopenedRun:
    """Have what a run is pinned to again; asks no cluster and decides nothing anew.

    `running` is what each target runs beside the new commit; empty: nothing. `numbers` say who
    gets how many replicas, and who had. What is not `planned` is rendered.

    Raises:
        errors.UserError: The commits cannot be rendered any more.
    """
    sides = {opened.commit: run_sources.of(opened)}
    rendering = run_renderer.RunRenderer(sides, renderer, members, numbers, opened.commit, planned)
    manifests = await _each(rendering.render, opened.commit, tuple(running))
    sides.update(await run_sources.of_running(opened, running.values()))
    old, _ = await _render_known(rendering, running)
    rendering.settle(manifests, old, running)
    return ReopenedRun(rendering, manifests, old)


async def _changed(
    opened: opened_applications.OpenedApplication, running: str
) -> tuple[str, ...] | None:
    """Return the paths that differ from the running commit; None where that cannot be told."""
    if opened.repository is None or not running:
        return None
    return await opened.repository.changed_paths(running, opened.commit)


async def _numbers(
    options: RunOptions,
    questions: cluster_questions.ClusterQuestions,
    rendering: run_renderer.RunRenderer,
    recognised: Mapping[str, recognition.Recognised],
) -> replica_assignment.ReplicaNumbers:
    names = tuple(recognised)
    application = rendering.sides[rendering.new].application
    if not replica_assignment.divides_replicas(application):
        return replica_assignment.ReplicaNumbers()
    undivided = await _each(rendering.undivided, rendering.new, names)
    members = replica_assignment.members_of(
        application, questions.clusters.fleet, names, options.placed
    )
    back_to = options.assigned_before if options.goes_back else assignment.EMPTY
    return await replica_assignment.assign_replicas(
        questions,
        application,
        undivided,
        members,
        options.assigned,
        back_to=back_to,
    )


async def _each(
    render: Callable[[str, str], Awaitable[Manifests]], commit: str, names: Sequence[str]
) -> dict[str, Manifests]:
    manifests: dict[str, Manifests] = {}
    problems: dict[errors.Problem, None] = {}
    for name in names:
        try:
            manifests[name] = await render(commit, name)
        except planned_manifests.DiffersError as error:
            manifests[name] = list(error.rendered)  # the stage that needs it says so
        except errors.UserError as error:
            problems.update(dict.fromkeys(error.problems))
    if problems:
        raise errors.UserError(*problems)
    return manifests


async def _render_known(
    rendering: run_renderer.RunRenderer, commits: Mapping[str, str]
) -> tuple[dict[str, Manifests], list[errors.Problem]]:
    """Render what each target runs; one for which that is not possible counts as new."""
    manifests: dict[str, Manifests] = {}
    problems: list[errors.Problem] = []
    for name, commit in commits.items():
        if not commit:
            continue
        try:
            manifests[name] = await rendering.render_before(commit, name)
        except planned_manifests.DiffersError as error:
            manifests[name] = list(error.rendered)  # the rollback that needs it says so
        except errors.UserError as error:
            text = f"{name} has nothing to go back to: {error.problems[0].message}"
            problems.append(errors.Problem(text, severity=errors.Severity.WARNING))
    return manifests, problems


async def _running(
    options: RunOptions,
    questions: cluster_questions.ClusterQuestions,
    opened: opened_applications.OpenedApplication,
    manifests: Mapping[str, Manifests],
    recognised: Mapping[str, recognition.Recognised],
) -> running_commit.RunningCommits:
    if options.running == running_commit.NONE:
        return running_commit.RunningCommits("", "--running none was passed")
    if options.running:
        commit_id = options.running
        if opened.repository is not None:
            commit_id = (await opened.repository.resolve(options.running)).id
        return running_commit.RunningCommits(commit_id, "--running was passed")
    seen = await running_commit.observe(questions, opened.application, manifests, recognised)
    running = running_commit.decide(seen, remembered=options.remembered, exceptions=options.kept)
    await _check_known(opened, running.commit)
    for commit in dict.fromkeys(running.others.values()):
        await _check_known(opened, commit)
    return running


async def _check_known(opened: opened_applications.OpenedApplication, commit: str) -> None:
    """Refuse a running commit that the source does not have."""
    if not commit:
        return
    hint = (
        "fetch it; if another application released it, give one of the two another name; else pass"
        f" --running COMMIT, or --running {running_commit.NONE} for a first deployment"
    )
    if opened.repository is None:
        if commit != opened.commit:
            raise errors.user_error(
                f"the clusters run {commit[:14]}, which a plain directory does not have",
                hint="pass --running DIRECTORY with what runs, or keep the application in Git",
            )
        return
    try:
        await opened.repository.resolve(commit)
    except errors.UserError as error:
        raise errors.user_error(
            f"the clusters run commit {commit[:12]}, which this repository does not have", hint=hint
        ) from error
