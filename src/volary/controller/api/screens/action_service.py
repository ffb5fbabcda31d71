"""What may be done next: the part of the service that reads what that depends on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from volary.controller import refusals
from volary.controller.api.screens import (
    action_representations,
    actions,
    history,
    overview_representations,
)
from volary.controller.fleet import cluster_registry
from volary.controller.runs import ready_runs, rollbacks
from volary.controller.status import application_identity, application_statuses
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.model import errors
from volary.store import records, stores


@dataclass(frozen=True, slots=True)
class Permissions:
    """Who asks, and what they may do about applications."""

    by: str
    #: Returns why they may not, one sentence, for a noun, a verb, labels and a project.
    why_not: Callable[[str, str, Mapping[str, str], str], str]

    def asker(self, labels: Mapping[str, str], project: str) -> actions.Asker:
        """Return who asks about what has these labels and belongs to this project."""
        return actions.Asker(self.by, lambda noun, verb: self.why_not(noun, verb, labels, project))


@dataclass(slots=True)
class ActionService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    register: cluster_registry.ClusterRegistry

    async def of_run(
        self, run_id: str, who: Permissions, *, cluster: str = ""
    ) -> action_representations.Actions:
        """Return what may be done about a run, or about one cluster of it.

        Raises:
            refusals.NotFound: There is no such run, or it has no such cluster.
            refusals.Conflict: What is stored of it cannot be read.
        """
        run = await self._run(run_id)
        if cluster and run.cluster(cluster) is None:
            raise refusals.not_found("cluster", cluster)
        record = await self.store.applications.get(run.application)
        asker = who.asker(record.labels, record.project) if record else who.asker({}, "")
        now = self.dependencies.clock.now()
        made = list(actions.of_run(run, asker, now, cluster=cluster))
        if run.is_final and record is not None and not cluster:
            made = [*await self._after_run(run, record, asker), *made]
        return action_representations.Actions(run.revision, tuple(made))

    async def _after_run(
        self, run: state.Run, record: records.ApplicationRecord, asker: actions.Asker
    ) -> list[action_representations.Action]:
        """Return what may be done about the application of a run that has ended."""
        facts = await self._facts(record)
        if facts.status is None:
            return []
        version = actions.Version(run.id, run.commit, run.status, run.targets)
        # What took another run back brought no version of its own.
        back = None if run.rollback_of else self._back_to(record, version, asker)
        if facts.status.run != run.id:
            return [back] if back is not None else []
        about = actions.of_application(facts, asker, self.dependencies.clock.now())
        return [action for action in about if action.verb in ("sync", "rollback")]

    def _back_to(
        self, record: records.ApplicationRecord, version: actions.Version, asker: actions.Asker
    ) -> action_representations.Action | None:
        status = None
        if not application_statuses.why_unreadable(record):
            status = application_statuses.from_document(record.document)
        return actions.back_to(
            record.name,
            version,
            asker,
            running_commit=record.running_commit,
            under_way=status.run if status and status.under_way else "",
            why_orphaned=application_identity.why_orphaned(
                self.dependencies.addresses, record.repository
            ),
        )

    async def history(
        self, name: str, who: Permissions, *, cursor: str = "", limit: int = 50
    ) -> records.Page[overview_representations.HistoryEntry]:
        """Return an application's runs and refused commits, each with the way back to it.

        Raises:
            errors.UserError: The cursor is none of this list.
        """
        known = await self.store.applications.get(name)
        if known is None:
            return await history.page(self.store, name, cursor=cursor, limit=limit)
        asker = who.asker(known.labels, known.project)
        return await history.page(
            self.store,
            name,
            cursor=cursor,
            limit=limit,
            back_to=lambda version: self._back_to(known, version, asker),
        )

    async def of_application(self, name: str, who: Permissions) -> action_representations.Actions:
        """Return what may be done about an application.

        Raises:
            refusals.NotFound: There is no such application.
        """
        known = refusals.required(await self.store.applications.get(name), "application", name)
        asker, facts = who.asker(known.labels, known.project), await self._facts(known)
        made = actions.of_application(facts, asker, self.dependencies.clock.now())
        return action_representations.Actions(facts.run.revision if facts.run else 0, made)

    async def of_cluster(
        self, name: str, who: Permissions, *, there: int
    ) -> action_representations.Actions:
        """Return what may be done about a cluster; `there` are the applications on it.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        if not self.register.is_leader:
            await self.register.load()
        members = {member.name: member for member in self.register.members.clusters}
        member = refusals.required(members.get(name), "cluster", name)
        now = self.dependencies.clock.now()
        made = actions.of_cluster(
            member, self.register.of(name), who.asker({}, ""), now, there=there
        )
        return action_representations.Actions(0, made)

    async def _run(self, run_id: str) -> state.Run:
        stored = refusals.required(await self.store.runs.load(run_id), "run", run_id)
        try:
            return codec.read_run(stored)
        except errors.PermanentError as error:
            raise refusals.conflict(
                str(error), hint=f"`volary abandon {run_id}` ends it as it is, if it has not ended"
            ) from error

    async def _facts(self, known: records.ApplicationRecord) -> actions.ApplicationFacts:
        if application_statuses.why_unreadable(known):
            return actions.ApplicationFacts(known, None)
        status = application_statuses.from_document(known.document)
        why_orphaned = application_identity.why_orphaned(
            self.dependencies.addresses, known.repository
        )
        run = await self._under_way(status)
        if run is not None:
            return actions.ApplicationFacts(known, status, why_orphaned, run)
        try:
            last, why_not = await rollbacks.find_run(self.store, known.name), ""
        except (errors.UserError, errors.PermanentError) as error:
            last, why_not = None, str(error)
            if isinstance(error, errors.UserError):
                why_not = refusals.to_text(error)
        return actions.ApplicationFacts(known, status, why_orphaned, None, last, why_not)

    async def _under_way(self, status: application_statuses.ApplicationStatus) -> state.Run | None:
        """Return the run under way; None: none is, or it cannot be read."""
        stored = await self.store.runs.load(status.run) if status.under_way and status.run else None
        if stored is None or stored.head.finished is not None:
            return None
        try:
            return codec.read_run(stored)
        except errors.PermanentError:
            return None
