"""What people see of an application compared with Git: found out now, or some seconds ago."""

from dataclasses import dataclass
from typing import cast

from volary.controller import refusals
from volary.controller.api import live_representations, live_service
from volary.controller.drift import comparer, comparisons
from volary.controller.status import application_state, application_statuses, drift_states
from volary.model import errors, json
from volary.model.objects import manifest
from volary.store import records, stores


@dataclass(slots=True)
class DriftService:
    """See the module; works in a process that stands by too."""

    store: stores.Store
    comparer: comparer.Comparer

    async def get(self, name: str) -> live_representations.Drift:
        """Return what is not as Git says in an application's clusters.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        known = await self.store.applications.get(name)
        if known is None:
            raise refusals.not_found("application", name)
        if why := application_statuses.why_unreadable(known):
            raise refusals.conflict(f"application {name}: {why}")
        status = application_statuses.from_document(known.document)
        state = application_state.ApplicationState(known, status)
        return of_comparison(await self.comparer.compare(state), status)

    def words(self, known: records.ApplicationRecord, cluster: str) -> live_service.DriftWords:
        """Return how an application's objects in a cluster compared last."""
        compared = self._of_cluster(known, cluster)
        if compared is None or not compared.is_known:
            return live_service.DriftWords()
        drifted = {key: verb.value for key, verb in compared.verbs.items()}
        return live_service.DriftWords(drifted, drift_states.SyncWord.IN_SYNC.value)

    async def compared(
        self, known: records.ApplicationRecord, cluster: str, key: manifest.ResourceKey
    ) -> live_service.Compared:
        """Return what Git says of one object, redacted, and what differed when it was compared."""
        last = self._of_cluster(known, cluster)
        found = next((one for one in last.objects if one.key == key), None) if last else None
        differences = tuple(map(_difference, found.differences)) if found else ()
        status = application_statuses.from_document(known.document)
        state = application_state.ApplicationState(known, status)
        try:
            found_in_git = await self.comparer.wanted(state, cluster, key)
        except (errors.UserError, errors.TemporaryError):
            found_in_git = None  # The object is shown all the same.
        if found_in_git is None:
            return live_service.Compared({}, differences)
        item, masker = found_in_git
        return live_service.Compared(live_service.shown_body(item.body, masker), differences)

    def _of_cluster(
        self, known: records.ApplicationRecord, cluster: str
    ) -> comparisons.ClusterComparison | None:
        last = self.comparer.last(known.project, known.name)
        clusters = last.clusters if last else ()
        return next((one for one in clusters if one.name == cluster), None)

    async def change(
        self, name: str, after: int = 0
    ) -> tuple[live_representations.DriftChange | None, int]:
        """Return what is written down of an application's drift, with the version of that.

        None: nothing was written down since the version `after`.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        known = await self.store.applications.get(name)
        if known is None:
            raise refusals.not_found("application", name)
        if known.version <= after:
            return None, after
        if why := application_statuses.why_unreadable(known):
            raise refusals.conflict(f"application {name}: {why}")
        status = application_statuses.from_document(known.document)
        return _change(known, status), known.version


def count_clusters(known: records.ApplicationRecord) -> live_representations.DriftCounts:
    """Return how many clusters of an application were out of sync when they were compared last.

    By status: `inSync` are those that nothing is remembered of.
    """
    if application_statuses.why_unreadable(known):
        return {}
    status = application_statuses.from_document(known.document)
    drifted = len(status.drift.clusters)
    released = sum(bool(one.commit) for one in status.releases.clusters.values())
    return {
        drift_states.SyncWord.OUT_OF_SYNC.value: drifted,
        drift_states.SyncWord.IN_SYNC.value: max(0, released - drifted),
    }


def _change(
    known: records.ApplicationRecord, status: application_statuses.ApplicationStatus
) -> live_representations.DriftChange:
    return live_representations.DriftChange(
        application=known.name,
        at=known.updated,
        clusters=tuple(
            live_representations.DriftedCluster(name=name, since=one.since, reason=one.reason)
            for name, one in status.drift.clusters.items()
        ),
        unrepaired=status.drift.unrepaired,
        repair=status.repair.id if status.repair is not None and not status.under_way else "",
        run=status.run,
        under_way=status.under_way,
    )


def of_comparison(
    compared: comparisons.Comparison, status: application_statuses.ApplicationStatus
) -> live_representations.Drift:
    """Return a comparison as people see it, with since when it is so."""
    state = status.drift
    is_drifted = compared.status is drift_states.SyncWord.OUT_OF_SYNC
    reason = compared.reason
    if is_drifted and state.unrepaired:
        reason = f"{reason}; {state.unrepaired}"
    return live_representations.Drift(
        application=compared.application,
        commit=compared.commit,
        mode=compared.mode.value,
        status=compared.status.value,
        reason=reason,
        since=state.since if is_drifted else None,
        repair_after=state.repair_after if is_drifted else None,
        clusters=tuple(_cluster(one, state) for one in compared.clusters),
    )


def _cluster(
    compared: comparisons.ClusterComparison, state: drift_states.DriftState
) -> live_representations.ClusterDrift:
    known = state.clusters.get(compared.name)
    return live_representations.ClusterDrift(
        name=compared.name,
        status=compared.status.value,
        reason=compared.reason,
        compared=compared.compared,
        objects=tuple(
            live_representations.ObjectDrift(
                group=one.key.group,
                kind=one.key.kind,
                namespace=one.key.namespace,
                name=one.key.name,
                drift=one.verb.value,
                since=one.since or (known.since if known is not None else None),
                reason=one.reason,
                differences=tuple(map(_difference, one.differences)),
                omitted=one.omitted,
            )
            for one in compared.objects
        ),
    )


def _difference(difference: comparisons.FieldDifference) -> live_representations.FieldDifference:
    absent = comparisons.ABSENT
    sides = "both"
    if difference.live is absent:
        sides = "wanted"
    elif difference.wanted is absent:
        sides = "live"
    wanted, live = (
        cast("json.JsonValue", None if side is absent else side)
        for side in (difference.wanted, difference.live)
    )
    return live_representations.FieldDifference(
        path=difference.path,
        wanted=wanted,
        live=live,
        sides=sides,
        owners=tuple(
            live_representations.FieldOwner(
                manager=owner.manager, operation=owner.operation, since=owner.since
            )
            for owner in difference.owners
        ),
    )
