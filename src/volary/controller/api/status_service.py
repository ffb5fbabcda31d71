"""How applications are over all their clusters: the part of the service that looks there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from volary.clusters.observe import live_state
from volary.controller import refusals
from volary.controller.api import conversions, representations, status_representations
from volary.controller.fleet import cluster_registry, surveys
from volary.controller.planning import project_checks
from volary.controller.runs import ready_runs
from volary.controller.status import application_state, application_statuses, run_origins
from volary.manifests import redaction
from volary.manifests.health import fleet_status
from volary.model import applications, errors, statuses
from volary.model.fleet import cluster_health, fleets
from volary.model.objects import object_health, ownership
from volary.placement.failover import destinations, situations
from volary.planner import targets as target_choice
from volary.stages import executor
from volary.store import records, stores
from volary.tenancy import restrictions


@dataclass(slots=True)
class StatusService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    surveyor: surveys.Surveyor
    register: cluster_registry.ClusterRegistry
    #: By application: why it could not be opened last.
    _problems: dict[str, str] = field(default_factory=dict, init=False)

    async def get(self, name: str) -> status_representations.ApplicationStatus:
        """Return an application over all its clusters; read now, or some seconds ago.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        known = await self.store.applications.get(name)
        if known is None:
            self._problems.pop(name, None)
            raise refusals.not_found("application", name)
        if why := application_statuses.why_unreadable(known):
            raise refusals.conflict(f"application {name}: {why}")
        seen = await self.surveyor.survey(name, lambda: self._subject(known), project=known.project)
        masker = self.dependencies.secrets.masker(name)
        shown = of_survey(name, seen, masker)
        application_status = application_statuses.from_document(known.document)
        application = conversions.of_application(known)
        return structs.replace(
            shown,
            status=application.status,
            reason=application.reason,
            running_commit=application.running_commit,
            run=application.run,
            waiting_reason=await self._why_waiting(application_status),
            clusters=tuple(map(self._marked, shown.clusters)),
            problem=masker.clean(self._problems.get(name, "")),
            warnings=application_status.warnings,
            drift={name: one.reason for name, one in application_status.drift.clusters.items()},
        )

    def _marked(
        self, cluster_state: status_representations.ClusterState
    ) -> status_representations.ClusterState:
        """Return a cluster's part with how the cluster itself is."""
        known = self.register.of(cluster_state.name)
        held = known.cordon or known.drain
        return structs.replace(cluster_state, state=known.state.value, cordoned=held is not None)

    async def _subject(self, known: records.ApplicationRecord) -> surveys.Subject:
        """Return what is surveyed: as its file says at the commit that counts.

        That is the commit of the run under way, else the last that succeeded. An application
        whose file cannot be read is surveyed where it was last.
        """
        application_status = application_statuses.from_document(known.document)
        last = (
            await self.store.runs.load(application_status.run) if application_status.run else None
        )
        places = run_origins.from_document(last.origin).targets if last else ()
        others = (*places, *application_status.releases.exceptions(""))
        commit = application_status.releases.running or application_status.head or known.branch
        if last is not None and application_status.under_way:
            commit = last.head.commit
        place = ready_runs.source_of(application_state.ApplicationState(known, application_status))
        clusters = self.dependencies.acting_for(known.project).clusters
        project = self.dependencies.projects().by_name.get(known.project)
        likely = restrictions.named_namespaces(project) if project else ()
        self._problems.pop(known.name, None)
        try:
            opened = await ready_runs.open_application(self.dependencies, place, commit)
        except (errors.UserError, errors.TemporaryError) as error:
            self._problems[known.name] = f"its file cannot be read: {error}"
            return surveys.Subject(
                known.name,
                live_state.ApplicationObjects(known.name, ownership.Origin(), likely=likely),
                others,
                rules=clusters.fleet.health,
                owners=application_status.owners,
                clusters=clusters,
            )
        project = self.dependencies.projects().by_name.get(known.project)
        members = project_checks.seen_fleet(project, clusters.fleet)
        seen = subject(opened.application, members, others, application_status.placed)
        return replace(
            seen,
            whose=replace(seen.whose, likely=(*seen.whose.likely, *likely)),
            owners=application_status.owners,
            clusters=clusters,
        )

    async def _why_waiting(self, application_status: application_statuses.ApplicationStatus) -> str:
        requested = application_status.run_request is not None
        waits = application_status.waiting_reason if requested else ""
        if not application_status.under_way:
            return waits
        stored = await self.store.runs.load(application_status.run)
        if stored is None:
            return waits
        run = conversions.of_run(stored, ())
        # What the run waits for is the cause, also of what waits behind it.
        needs_person = run.held or run.pending_approval is not None or run.paused_by
        typed = run.next_commands[0] if needs_person else f"volary explain {run.summary.id}"
        cause = f"{run.waiting_reason}; type {typed}"
        return f"{waits}: {cause}" if waits else cause


def away(known: cluster_registry.ClusterRegistry) -> Callable[[str], bool]:
    """Return what says that a cluster is known not to answer."""
    return lambda name: known.of(name).state is cluster_health.ClusterState.UNREACHABLE


def subject(
    application: applications.Application,
    members: fleets.Fleet,
    others: tuple[str, ...] = (),
    placed: situations.PlacementState | None = None,
) -> surveys.Subject:
    """Return what is surveyed of an application.

    It is for the clusters that its spread chooses; one that it is on and that takes nothing new
    at the moment, because it is cordoned or lost, is surveyed as any other.

    Args:
        application: As its file says.
        members: The fleet.
        others: Clusters it was in.
        placed: What is remembered of where it is; nothing without a server.
    """
    placed = placed or situations.PlacementState()
    selection = target_choice.select(application, members)
    here = {*selection.names, *(name for name in selection.tainted if name in placed.chosen)}
    there = [cluster for cluster in members.clusters if cluster.name in here]
    choice = destinations.choose(application, there, placed)
    # A spread that cannot be met says nothing of where it is.
    names = choice.names or placed.chosen or selection.names
    return surveys.Subject(
        application.name,
        live_state.ApplicationObjects(
            application.declared_name,
            application.origin,
            likely=(application.input.namespace,) if application.input.namespace else (),
        ),
        names,
        (*others, *selection.names, *selection.suspended, *selection.tainted),
        executor.with_rules(application, members).health,
    )


def of_survey(
    name: str, seen: surveys.Survey, masker: redaction.Masker
) -> status_representations.ApplicationStatus:
    """Return what was seen, as far as it is known without a server."""
    return representations.build(
        status_representations.ApplicationStatus,
        seen.whole,
        name=name,
        at=seen.at,
        health=_health(seen.whole.health, masker),
        status="",
        reason="",
        running_commit="",
        run="",
        waiting_reason="",
        releases=tuple(
            representations.build(status_representations.Release, release)
            for release in seen.whole.releases
        ),
        variants=_variants(seen.whole.variants),
        objects=tuple(map(_sum, seen.whole.objects)),
        clusters=tuple(_cluster(cluster, masker) for cluster in seen.whole.clusters),
        problem="",
        warnings=(),
        drift={},
    )


def _health(
    health: object_health.Health, masker: redaction.Masker
) -> status_representations.Health:
    return status_representations.Health(health.status, masker.clean(health.reason))


def _variants(
    variants: Iterable[fleet_status.VariantStatus],
) -> tuple[status_representations.VariantState, ...]:
    return tuple(
        representations.build(status_representations.VariantState, variant) for variant in variants
    )


def _sum(summary: fleet_status.ObjectSummary) -> status_representations.ObjectSummary:
    return representations.build(
        status_representations.ObjectSummary,
        summary,
        summary.key,
        numbers=summary.status,
        health={status.value: count for status, count in summary.health.items()},
    )


def _cluster(
    report: fleet_status.ClusterReport, masker: redaction.Masker
) -> status_representations.ClusterState:
    state = report.state or fleet_status.ClusterStatus(
        object_health.Health(statuses.HealthStatus.UNKNOWN, "it was never seen")
    )
    return representations.build(
        status_representations.ClusterState,
        report,
        state,
        name=report.cluster,
        current=report.current is not None,
        unreachable_reason=masker.clean(report.unreachable_reason),
        unknown_since=report.silent_since,
        health=_health(state.health, masker),
        variants=_variants(state.variants),
        objects=tuple(
            _object(report.cluster, object_status, masker) for object_status in state.objects
        ),
        warnings=tuple(masker.clean(warning) for warning in state.warnings),
        state="",
        cordoned=False,
    )


def _object(
    cluster: str, object_status: fleet_status.ObjectStatus, masker: redaction.Masker
) -> status_representations.ObjectState:
    return representations.build(
        status_representations.ObjectState,
        object_status,
        object_status.key,
        health=_health(object_status.health, masker),
        numbers=fleet_status.numbers(cluster, object_status),
    )
