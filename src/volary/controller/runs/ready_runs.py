"""A run that is ready to be carried out, and what it takes to make one: the same for every kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Protocol

from volary.analysis.metering import meters
from volary.clusters.client import client_pool
from volary.concurrency import work_threads
from volary.controller import inputs, project_actors
from volary.controller.persistence import redaction
from volary.controller.planning import (
    cluster_questions,
    opened_applications,
    planned_manifests,
    preparation,
    project_checks,
    replica_assignment,
    run_renderer,
)
from volary.controller.runs import run_clusters
from volary.controller.status import application_state, run_origins, run_requests
from volary.engine import executor
from volary.engine.runs import policies, state
from volary.manifests import redaction as manifest_redaction
from volary.model import applications, clocks, projects
from volary.model.fleet import fleets
from volary.model.objects import ownership
from volary.model.runs import run_records
from volary.sources.rendering import renderers
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts, task_states
from volary.store import stores
from volary.tenancy import guards, membership


@dataclass(frozen=True, slots=True)
class ApplicationSource:
    """Where an application lives."""

    name: str
    repository: str
    #: Its file, relative to the root.
    path: str
    branch: str = ""
    #: The clusters it is for, when whoever runs the controller says so.
    targets: applications.TargetSelector | None = None


@dataclass(slots=True)
class Dependencies:
    """What planning works with; one per process."""

    repositories: inputs.Repositories
    clusters: client_pool.FleetClients
    clock: clocks.Clock
    renderer: renderers.Renderer = field(default_factory=renderers.Renderer)
    secrets: redaction.SecretValues = field(default_factory=redaction.SecretValues)
    #: How long a cluster may take to answer while a run is prepared.
    patience: timedelta = cluster_questions.PATIENCE
    #: After which time a run tries a cluster again that it waits for, unless it was seen before.
    again_after: timedelta = policies.AGAIN_AFTER
    executor_options: contexts.Options = field(default_factory=contexts.Options)
    #: Where metrics are kept.
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    #: Where repositories are, by name, as scripts may know it.
    addresses: Mapping[str, str] = field(default_factory=dict)
    #: Which projects there are now.
    projects: Callable[[], membership.Projects] = membership.Projects

    def acting_for(self, project: str) -> "Dependencies":
        """Return what is worked with for the applications of a project.

        Clusters are asked, and written to, on its behalf and within what it permits, and secrets in
        Git are opened with its own keys where it has any. A controller does everything with these
        that it does for an application.
        """
        actor = project_actors.ProjectActor(project, self.projects)
        known = self.projects().by_name.get(project)
        renderer = self.renderer
        if known is not None and known.secrets is not None:
            renderer = renderer.with_keys(known.secrets)
        return replace(self, clusters=self.clusters.acting_for(actor), renderer=renderer)


class Performer(executor.StageExecutor, Protocol):
    """Carries out stages, and keeps what their tasks remember."""

    keeper: task_states.TaskStateStore
    #: Called with a cluster that left the fleet and cannot be reached any more, and why.
    leave_out: Callable[[str, str], None] | None
    #: Looks the application's project up, as it is now; each task asks it.
    standing: guards.LookUp | None

    async def conclude(self, ended: state.Run) -> None:
        """Let go of what the clusters keep for a way back that is not needed any more."""
        ...


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run with everything that carries it out."""

    run: state.Run
    performer: Performer
    masker: manifest_redaction.Masker
    origin: run_origins.Origin
    #: Its clusters, as they are described for as long as it lasts.
    clusters: tuple[fleets.Cluster, ...] = ()
    #: Has what it applies; None: nothing of that is kept.
    rendering: run_renderer.RunRenderer | None = None

    async def pack_manifests(self) -> bytes:
        """Return what it was planned to apply and to go back to, as it is kept with it."""
        return b"" if self.rendering is None else await self.rendering.pack(self.masker)


@dataclass(frozen=True, slots=True)
class PlannedInputs:
    """What a run was planned with, as it was kept with it; nothing: as things are now."""

    clusters: Sequence[fleets.Cluster] = ()
    manifests: planned_manifests.Planned = field(default_factory=dict)


_AS_IT_IS = PlannedInputs()


async def read_inputs(store: stores.Store, stored: run_records.StoredRun) -> PlannedInputs:
    """Return what a stored run was planned with."""
    packed = await store.runs.manifests(stored.head.id)
    planned = await work_threads.run("unpacking the manifests", planned_manifests.unpack, packed)
    return PlannedInputs(run_clusters.from_document(stored.clusters), planned)


async def open_application(
    dependencies: Dependencies, place: ApplicationSource, commit: str
) -> opened_applications.OpenedApplication:
    """Open an application at a commit.

    Raises:
        errors.UserError: The commit or the file is not there, or the file has errors.
    """
    with work_threads.on_behalf_of(place.repository):
        repository = await dependencies.repositories.repository(place.repository)
        opened = await opened_applications.open_pinned(
            repository, place.path, commit, name=place.name
        )
    opened = opened_applications.with_targets(opened, place.targets)
    # Teams that share a server see each other by no name.
    described = replace(opened.application, names_others=not dependencies.projects().are_in_use)
    return replace(opened, application=described)


async def take_up(
    dependencies: Dependencies,
    name: str,
    run: state.Run,
    origin: run_origins.Origin,
    planned_with: PlannedInputs,
) -> ReadyRun:
    """Return a stored run, ready to go on from where it was left, with what it was planned with.

    Raises:
        errors.UserError: What it is pinned to cannot be opened any more.
        errors.TemporaryError: It may work later.
    """
    place = ApplicationSource(name, origin.repository, origin.path, origin.branch, origin.selector)
    opened = await open_application(dependencies, place, run.commit)
    return await take_up_opened(dependencies, opened, run, origin, planned_with)


async def take_up_opened(
    dependencies: Dependencies,
    opened: opened_applications.OpenedApplication,
    run: state.Run,
    origin: run_origins.Origin,
    planned_with: PlannedInputs = _AS_IT_IS,
) -> ReadyRun:
    """Return a run ready to go on as it is, with its application opened at the run's commit.

    It was stored, or its plan stands without asking a cluster.

    Raises:
        errors.UserError: What it is pinned to cannot be opened any more.
        errors.TemporaryError: It may work later.
    """
    dependencies.clusters.remember(planned_with.clusters)
    members = run_clusters.pinned(dependencies.clusters.fleet, planned_with.clusters)
    again = await preparation.reopen(
        opened,
        {name: run.running_commit_of(name) for name in run.targets},
        dependencies.renderer,
        members,
        replica_assignment.ReplicaNumbers(origin.assigned, origin.assigned_before),
        planned_with.manifests,
    )
    ready = await of_plan(dependencies, opened.application, again, run, origin)
    return replace(ready, clusters=_of_run(members, run))


async def refuse_forbidden(
    dependencies: Dependencies,
    project: projects.Project | None,
    application: applications.Application,
    ready: ReadyRun,
    targets: Sequence[str],
) -> None:
    """Refuse a run that brings clusters what a project may not have there.

    Args:
        dependencies: What planning works with.
        project: Whose; None: there are none.
        application: At the run's commit.
        ready: A run without a pipeline: each cluster gets what it runs already, else the commit.
        targets: The clusters that get something.

    Raises:
        errors.UserError: With all that is not permitted.
    """
    if project is None or ready.rendering is None:
        return
    run, rendering = ready.run, ready.rendering
    is_backfill = ready.origin.kind in (
        run_requests.KindName.BACKFILL,
        run_requests.KindName.REPAIR,
    )
    manifests = {
        target: await rendering.render(run.commit, target)
        if is_backfill or not run.running_commit_of(target)
        else await rendering.render_before(run.running_commit_of(target), target)
        for target in targets
    }
    questions = cluster_questions.ClusterQuestions(dependencies.clusters, dependencies.patience)
    await project_checks.refuse_objects(project, questions, application, manifests)


async def owners_of(
    dependencies: Dependencies,
    opened: opened_applications.OpenedApplication,
    targets: Sequence[str],
    remembered: Mapping[str, ownership.Owner],
) -> dict[str, ownership.Owner]:
    """Return whose the application's objects are, by target, as the clusters say.

    Raises:
        errors.UserError: That cannot be told, or the commit cannot be rendered.
    """
    recognised = await preparation.recognise(
        opened,
        cluster_questions.ClusterQuestions(dependencies.clusters, dependencies.patience),
        targets,
        dependencies.renderer,
        remembered=remembered,
    )
    return {name: known.owner for name, known in recognised.items()}


async def of_plan(
    dependencies: Dependencies,
    application: applications.Application,
    opened: preparation.PreparedRun | preparation.ReopenedRun,
    run: state.Run,
    origin: run_origins.Origin,
) -> ReadyRun:
    """Return a run whose plan stands, with everything that carries it out."""
    address = dependencies.addresses.get(origin.repository, origin.repository)
    performer = stage_executor.ClusterExecutor(
        application,
        dependencies.clusters,
        opened.rendering.render,
        dependencies.clock,
        dependencies.executor_options,
        contexts.RunEnvironment(
            origin.by or origin.author,
            address,
            origin.summary,
            checkout=opened.rendering.checkout,
        ),
        meter=dependencies.meter,
        render_before=opened.rendering.render_before,
        owners=origin.owners,
    )
    return ReadyRun(
        run,
        performer,
        await _masker_of(dependencies, opened, application.name),
        origin,
        _of_run(dependencies.clusters.fleet, run),
        opened.rendering,
    )


async def _masker_of(
    dependencies: Dependencies,
    opened: preparation.PreparedRun | preparation.ReopenedRun,
    application: str,
) -> manifest_redaction.Masker:
    """Return a masker that knows the secrets of the manifests, besides those of the controller."""
    made = masker(dependencies, application=application)

    def learn() -> None:
        for side in (opened.manifests, opened.old_manifests):
            for manifests in side.values():
                made.learn(manifests)
        made.clean("")  # prepares what the first text would wait for

    await work_threads.run("looking for secrets in the manifests", learn)
    return made


def _of_run(members: fleets.Fleet, run: state.Run) -> tuple[fleets.Cluster, ...]:
    mine = set(run.targets)
    return tuple(cluster for cluster in members.clusters if cluster.name in mine)


def origin_of(
    place: ApplicationSource,
    run_request: run_requests.RunRequest,
    opened: opened_applications.OpenedApplication,
    targets: Sequence[str],
) -> run_origins.Origin:
    """Return why the run of a request exists, before what is particular to its kind."""
    made = origin_of_refused(place, run_request)
    return replace(made, subject=opened.subject, targets=tuple(targets))


def origin_of_refused(
    place: ApplicationSource, run_request: run_requests.RunRequest
) -> run_origins.Origin:
    """Return why the run of a request exists that was refused before anything was opened."""
    return run_origins.Origin(
        repository=place.repository,
        path=place.path,
        branch=place.branch,
        selector=place.targets,
        author=run_request.author,
        kind=run_request.kind,
        reason=run_request.reason,
        by=run_request.by,
        summary=run_request.reason,
    )


def masker(dependencies: Dependencies, *, application: str = "") -> manifest_redaction.Masker:
    """Return a masker that knows the secrets of the controller.

    Also what came to light, or does later, when the application was rendered.
    """
    return dependencies.secrets.masker(application)


def source_of(application: application_state.ApplicationState) -> ApplicationSource:
    """Return where an application lives."""
    known = application.record
    return ApplicationSource(
        known.name, known.repository, known.path, known.branch, application.status.targets
    )
