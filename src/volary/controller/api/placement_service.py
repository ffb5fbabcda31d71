"""What people see and ask of where applications are: the part of the service that is about it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from volary.concurrency import fan_out
from volary.controller import refusals
from volary.controller.api import audit_states, representations
from volary.controller.api.commands import command_client
from volary.controller.fleet import cluster_registry
from volary.controller.placement import drain_previews, rebalancing
from volary.controller.runs import ready_runs
from volary.controller.status import application_state, application_statuses
from volary.model import errors, phrases
from volary.model.placement import failover_rules
from volary.placement.failover import eviction_limits
from volary.store import pagination, records, stores

_PAGE = 200
_CORDON = "cordon"


class Eviction(representations.Representation, frozen=True):
    """An application on its way off a cluster."""

    cluster: str
    #: ``cluster``, ``application``, ``drain`` or ``rebalance``.
    cause: str
    #: The evidence, one sentence.
    reason: str
    since: datetime
    #: ``Gracefully``, ``Directly`` or ``Never``.
    purge: str
    replacements: tuple[str, ...]
    #: The replacements were seen healthy.
    replaced: bool


class PlacementReason(representations.Representation, frozen=True):
    """Why something is so on a cluster."""

    cluster: str
    #: One sentence.
    reason: str


class Placement(representations.Representation, frozen=True):
    """Where an application is, and what is moving."""

    application: str
    clusters: tuple[str, ...]
    #: Clusters that it left; they are not chosen again until a rebalance.
    away: tuple[PlacementReason, ...]
    leaving: tuple[Eviction, ...]
    #: Reasons to move that still lack something.
    waiting: tuple[PlacementReason, ...]
    #: Id of the move that begins next; empty: none does.
    move: str


class Rebalance(representations.Representation, frozen=True):
    """What a rebalance would do."""

    application: str
    reason: str
    clusters: tuple[str, ...]
    #: Clusters that get more, keep a part, and lose all.
    more: tuple[str, ...]
    less: tuple[str, ...]
    off: tuple[str, ...]
    #: Clusters that it would not be on.
    left_out: tuple[PlacementReason, ...]


class ClusterMove(representations.Representation, frozen=True):
    """An application on a cluster that somebody thinks of draining."""

    application: str
    #: Whether it would leave the cluster.
    moves: bool
    #: Clusters that it would be on besides then.
    replacements: tuple[str, ...]
    #: Why it would move, or stay, one sentence.
    reason: str


class ClusterPreview(representations.Representation, frozen=True):
    """What cordoning or draining a cluster would do to what runs there."""

    cluster: str
    #: ``cordon`` or ``drain``.
    action: str
    #: What would happen, one sentence.
    sentence: str
    #: By name.
    applications: tuple[ClusterMove, ...]
    #: Applications that were not looked at, because there are too many.
    omitted: int


#: Applications that are looked at for a preview, and at the same time.
_MOST_LOOKED_AT, _AT_ONCE = 100, 2
_CORDONED = "what runs there stays, and misses what is released until the cluster is uncordoned"


@dataclass(slots=True)
class PlacementService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    register: cluster_registry.ClusterRegistry
    asker: command_client.CommandClient
    audit_trail: command_client.AuditLog
    limits: failover_rules.FailoverLimits = field(default_factory=failover_rules.FailoverLimits)

    @property
    def alarm(self) -> str:
        """Why nothing at all is moved: so much of the fleet looks lost; empty: it is not.

        Only the leader probes clusters; elsewhere this is empty.
        """
        if not self.register.is_leader:
            return ""
        now, rules = self.dependencies.clock.now(), self.register.rules
        view = eviction_limits.assess(self.register.known, now, rules)
        return eviction_limits.allowance(view, (), self.limits, now).alarm

    async def moving(self) -> Counter[str]:
        """Return how many applications are on their way off a cluster, by cause."""
        counts: Counter[str] = Counter()
        wanted = records.ApplicationFilter()
        async for item in pagination.every(
            lambda cursor: self.store.applications.list(wanted, cursor=cursor, limit=_PAGE)
        ):
            if application_statuses.why_unreadable(item):
                continue
            placed = application_statuses.from_document(item.document).placed
            counts.update({leaving.cause.value for leaving in placed.leaving})
        return counts

    async def get(self, application: str) -> Placement:
        """Return where an application is.

        Raises:
            refusals.NotFound: There is no such application.
        """
        known = await self._application(application)
        return _view(application, application_statuses.of_record(known))

    async def plan(self, application: str, asker: representations.Actor) -> Rebalance:
        """Return what a rebalance would do now; writes nothing but that somebody asked.

        Raises:
            refusals.NotFound: There is no such application.
            refusals.Conflict: There is nothing to place, or no place for it.
        """
        known = await self._application(application)
        async with self.audit_trail.noting(
            asker, "application.rebalance", application=application, document={"dryRun": True}
        ):
            return await self._plan(known, asker.by)

    async def preview(
        self, action: str, cluster: str, applications: Sequence[str]
    ) -> ClusterPreview:
        """Return what cordoning or draining a cluster would do now; changes nothing.

        Args:
            action: ``cordon`` or ``drain``.
            cluster: A cluster of the fleet.
            applications: Those on it that are looked at, by name.
        """
        if not self.register.is_leader:
            await self.register.load()
        looked = applications[:_MOST_LOOKED_AT]
        moves = await fan_out.run_all(
            looked, lambda name: self._move(action, cluster, name), at_once=_AT_ONCE
        )
        leaving = sum(move.moves for move in moves)
        there = phrases.count(len(applications), "application")
        said = f"nothing new begins on {cluster}; of {there} there {leaving} would move"
        if action == _CORDON:
            said = f"nothing new begins on {cluster}; {there} there: {_CORDONED}"
        return ClusterPreview(
            cluster, action, said, tuple(moves), max(0, len(applications) - len(looked))
        )

    async def _move(self, action: str, cluster: str, name: str) -> ClusterMove:
        if action == _CORDON:
            return ClusterMove(name, False, (), _CORDONED)
        masker = self.dependencies.secrets.masker(name)
        try:
            known = await self._application(name)
            status = application_statuses.of_record(known)
            place = ready_runs.source_of(application_state.ApplicationState(known, status))
            effect = await drain_previews.of_drain(
                self.dependencies.acting_for(known.project),
                place,
                status,
                self.register,
                cluster,
                project=known.project,
                limits=self.limits,
            )
        except errors.UserError as error:
            reason = masker.clean(refusals.sentence(error))
            return ClusterMove(name, False, (), f"it is not known: {reason}")
        except errors.VolaryError as error:
            return ClusterMove(name, False, (), f"it is not known: {masker.clean(str(error))}")
        return ClusterMove(name, effect.moves, effect.replacements, masker.clean(effect.reason))

    async def rebalance(
        self, application: str, asker: representations.Actor
    ) -> representations.Accepted:
        """Have an application placed anew.

        Raises:
            refusals.NotFound: There is no such application.
            refusals.Conflict: Nothing would move, or it cannot now.
        """
        before = await self._application(application)
        async with self.audit_trail.noting(
            asker, "application.rebalance", application=application, document={}
        ) as change:
            change.before = audit_states.of_application(before)
            run = await self.asker.ask(
                rebalancing.KIND, asker.by, application=application, key=asker.key
            )
            after = await self._application(application)
            change.after = audit_states.of_application(after)
        status = application_statuses.of_record(after)
        move = status.move
        return representations.Accepted(run, move.reason if move and move.id == run else "")

    async def _plan(self, known: records.ApplicationRecord, by: str) -> Rebalance:
        if not self.register.is_leader:
            await self.register.load()
        status = application_statuses.of_record(known)
        place = ready_runs.source_of(application_state.ApplicationState(known, status))
        dependencies = self.dependencies.acting_for(known.project)
        made = await rebalancing.plan(
            dependencies, place, status, self.register, by=by, project=known.project
        )
        return Rebalance(
            known.name,
            made.reason,
            made.chosen,
            made.more,
            made.less,
            tuple(eviction.cluster for eviction in made.leaving),
            _reasons(made.left_out),
        )

    async def _application(self, name: str) -> records.ApplicationRecord:
        return refusals.required(await self.store.applications.get(name), "application", name)


def _view(application: str, status: application_statuses.ApplicationStatus) -> Placement:
    placed = status.placed
    return Placement(
        application,
        placed.chosen,
        _reasons(placed.away),
        tuple(representations.build(Eviction, eviction) for eviction in placed.leaving),
        _reasons(placed.waiting),
        status.move.id if status.move else "",
    )


def _reasons(reasons: Mapping[str, str]) -> tuple[PlacementReason, ...]:
    return tuple(PlacementReason(name, why) for name, why in reasons.items())
