"""Follows one cluster for as long as it is there: which kinds, from inventories; then each of them.

One list and watch per kind, whatever the number of applications. Where a kind may not be listed in
the whole cluster it is followed in the namespaces that are known. A cluster that falls silent is
not asked any more but whether it is back, less and less often; then everything is listed anew.

Nothing that a cluster answers ends this: what cannot be read is counted and left out, a kind that
cannot be followed is tried again later, and each is a warning for people.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, fleet_clients
from volary.clusters.inventory import inventory, owned_objects
from volary.concurrency import work_threads
from volary.livestate import cluster_objects, entries, sources, watch_budget
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import clocks, errors, json, phrases

_LOG = logging.getLogger(__name__)

#: Seconds between two looks at whether what is followed is still what should be.
_TICK = 1.0
#: Seconds of silence after which a cluster is asked whether it is there.
_SILENCE = 60.0
#: Seconds after which a silent cluster, or a kind that could not be followed, is tried again: the
#: first time, and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
#: Namespaces in which a kind is followed that may not be followed everywhere.
_MOST_NAMESPACES = 64
#: Warnings of one cluster that are shown.
_MOST_WARNINGS = 10
_APPLIED_LABEL = f"{tracking.MANAGED_BY}={tracking.VOLARY}"
_WARNINGS_ONLY = "type=Warning"


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """How well a cluster is followed."""

    #: Why what is known of it may be old, one sentence; empty: it is current.
    stale_reason: str = "it has not been looked at yet"
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """A source, followed in one namespace or (empty) everywhere."""

    source: sources.Source
    namespace: str
    #: Another one: the same is listed anew, since more of it counts.
    scope: frozenset[str] = field(default=frozenset(), compare=True)


@dataclass(slots=True)
class _Followed:
    """How a place is followed."""

    task: "asyncio.Task[None]"
    is_listed: bool = False
    #: Why it is not followed, one sentence.
    problem: str = ""


class Behalf(Protocol):
    """On whose behalf clusters are read in single namespaces, where not as a whole."""

    def namespaces(self, cluster: str) -> Collection[str]:
        """Return namespaces in which something may be, also where no inventory tells of it."""
        ...

    def clients(self, cluster: str, namespace: str) -> fleet_clients.FleetClients:
        """Return the clients that read a namespace."""
        ...


@dataclass(frozen=True, slots=True)
class OwnBehalf:
    """Everything is read with the same clients."""

    own: fleet_clients.FleetClients

    def namespaces(self, cluster: str) -> Collection[str]:
        """Return none."""
        return ()

    def clients(self, cluster: str, namespace: str) -> fleet_clients.FleetClients:
        """Return these clients."""
        return self.own


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a follower works with."""

    clusters: fleet_clients.FleetClients
    behalf: Behalf
    clock: clocks.Clock
    reading: entries.Reading
    #: Called when something has changed.
    on_change: Callable[[], None]
    #: Shared by all clusters.
    watches: watch_budget.WatchBudget
    #: Between 0 and 1.
    chance: Callable[[], float]


class ClusterFollower:
    """See the module; `follow` goes on until it is cancelled."""

    def __init__(
        self, name: str, known: cluster_objects.ClusterObjects, around: Surroundings
    ) -> None:
        self._name = name
        self._known = known
        self._around = around
        self._followed: dict[_Place, _Followed] = {}
        self._refused: set[sources.Source] = set()
        self._unreadable: dict[sources.Source, int] = {}
        self._not_served: set[sources.Source] = set()
        #: Everything that was wanted has been listed once with this client.
        self._is_complete = False
        self._once_listed: set[tuple[str, str]] = set()
        self._look_again = asyncio.Event()
        #: When it was known last to be there.
        self.observed: datetime | None = None
        self.status = ClusterStatus()

    @property
    def listed(self) -> Collection[tuple[str, str]]:
        """The kinds of applied objects of which all is known."""
        whole: dict[tuple[str, str], bool] = {}
        for place, followed in self._followed.items():
            if place.source.role is sources.Role.APPLIED:
                kind = (place.source.group, place.source.kind)
                whole[kind] = whole.get(kind, True) and followed.is_listed
        return {kind for kind, is_whole in whole.items() if is_whole}

    @property
    def once_listed(self) -> Collection[tuple[str, str]]:
        """The kinds of applied objects of which all is known, or was when it fell silent."""
        return self._once_listed

    async def follow(self) -> None:
        """Follow the cluster until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            began = _now()
            reason = await self._follow_once()
            self._set_status(reason)
            pause = _FIRST_PAUSE if _now() - began > _LONGEST_PAUSE else pause
            # Many that fell silent together are not all listed in the same moment.
            await asyncio.sleep(pause * (0.5 + self._around.chance()))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _follow_once(self) -> str:
        """Follow the cluster until it falls silent, or has another client; returns why it ended."""
        try:
            member = self._around.clusters.member(self._name)
            if member is not None and member.suspended:
                return "the fleet file suspends the cluster, so it is not looked at"
            client = await self._around.clusters.client(self._name)
            if isinstance(client, fleet_clients.Unavailable):
                return client.reason
            # Asks past everything that is remembered whether it is there.
            await client.version()
            return await self._with(client)
        except errors.VolaryError as error:
            return _sentence(error)
        except Exception as error:  # noqa: BLE001 - said, and begun anew
            # A bug, or a client that was closed in our hands; nobody else may be stopped by it.
            _LOG.exception("following cluster %s failed, and begins anew", self._name)
            return f"following it failed: {type(error).__name__}"

    async def _with(self, client: clients.Client) -> str:
        self._is_complete = False
        self._refused.clear()
        self._unreadable.clear()
        self._known.forget_cut()
        try:
            async with asyncio.TaskGroup() as group:
                while not (why := await self._why_ended(client)):
                    self.observed = self._around.clock.now()
                    self._choose(client, group)
                    self._set_status("")
                    self._look_again.clear()
                    await _first_of(self._look_again, _TICK)
                for followed in self._followed.values():
                    followed.task.cancel()
        finally:
            self._followed.clear()
        return why

    async def _why_ended(self, client: clients.Client) -> str:
        """Return why a cluster is not followed with this client any more; empty: it is."""
        if client.trouble:
            return f"the cluster does not answer: {client.trouble}"
        if await self._around.clusters.client(self._name) is not client:
            return "it is reached in another way now"
        if _now() - client.answered > _SILENCE:
            try:
                await client.version()
            except errors.TemporaryError as error:
                return f"the cluster does not answer: {error}"
            except errors.VolaryError:
                return ""  # it answered, if only to refuse
        if self._known.has_room_again:
            return "there is room again for what was left out"
        return ""

    def _choose(self, client: clients.Client, group: asyncio.TaskGroup) -> None:
        """Begin to follow what applications have here now, and end what they do not have."""
        wanted = dict.fromkeys(self._places(sources.INVENTORIES, client))
        inventories = [followed for place in wanted if (followed := self._followed.get(place))]
        if not all(one.is_listed or one.problem for one in inventories):
            return  # what was known of it before stays, until it is known anew
        kinds: Collection[tuple[str, str]] = self._known.kinds
        if inventories and not any(one.is_listed for one in inventories):
            # Who may not read inventories sees what is common all the same.
            kinds = owned_objects.COMMON_KINDS
        for source in sources.choose(kinds) if inventories else ():
            wanted |= dict.fromkeys(self._places(source, client))
        for place in [place for place in self._followed if place not in wanted]:
            self._followed.pop(place).task.cancel()
            if not any(_covers(one, place) for one in wanted):
                self._known.drop(place.source, place.namespace)
                self._once_listed.discard((place.source.group, place.source.kind))
        for place in wanted:
            if place not in self._followed:
                work = self._follow_place(client, place)
                name = f"{self._name}: {place.source.kind}"
                self._followed[place] = _Followed(group.create_task(work, name=name))

    @property
    def _namespaces(self) -> frozenset[str]:
        """The namespaces whose pods count."""
        member = self._around.clusters.member(self._name)
        allowed = member.namespaces if member else ()
        return self._known.namespaces.union(allowed, self._around.behalf.namespaces(self._name))

    def _places(self, source: sources.Source, client: clients.Client) -> list[_Place]:
        """Return where a source is followed."""
        member = self._around.clusters.member(self._name)
        allowed = member.namespaces if member else ()
        scope: frozenset[str] = frozenset()
        if source.role in (sources.Role.CHILDREN, sources.Role.EVENTS):
            scope = self._known.namespaces
        if not allowed and source not in self._refused:
            return [_Place(source, "", scope)]
        named = allowed or sorted(self._namespaces or {client.namespace})
        # What is in one namespace does not depend on which others count.
        return [_Place(source, namespace) for namespace in named[:_MOST_NAMESPACES]]

    async def _follow_place(self, client: clients.Client, place: _Place) -> None:
        """Follow one source in one place, again and again, until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            followed = self._followed[place]
            try:
                with self._around.watches.one():
                    await self._listen(await self._reader(client, place), place, followed)
            except watch_budget.NoWatchLeftError:
                followed.problem = (
                    f"{place.source.kind} is not followed: {self._around.watches.most} watches are "
                    "open, and the process may not have more (raise LimitNOFILE or ulimit -n)"
                )
            except api_errors.Forbidden as refusal:
                followed.problem = f"{place.source.kind} may not be read: {refusal}"
                if not place.namespace and place.source not in self._refused:
                    self._refused.add(place.source)
                    self._look_again.set()
                    # It is replaced by others, in the namespaces that are known.
            except errors.VolaryError as error:
                followed.problem = f"{place.source.kind} cannot be followed: {error}"
            except Exception as error:  # noqa: BLE001 - said, and tried again
                _LOG.exception("following %s in cluster %s failed", place.source.kind, self._name)
                followed.problem = f"{place.source.kind} cannot be followed: {type(error).__name__}"
            followed.is_listed = False
            await asyncio.sleep(pause * (0.5 + self._around.chance()))
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _reader(self, client: clients.Client, place: _Place) -> clients.Client:
        """Return with which client a place is read.

        Raises:
            errors.TemporaryError: There is none now.
        """
        if not place.namespace:
            return client
        chosen = self._around.behalf.clients(self._name, place.namespace)
        reached = await chosen.client(self._name)
        if isinstance(reached, fleet_clients.Unavailable):
            raise errors.TemporaryError(reached.reason)
        return reached

    async def _listen(self, client: clients.Client, place: _Place, followed: _Followed) -> None:
        source = place.source
        resource = await self._resource(client, source)
        if resource is None:
            followed.problem = f"the cluster does not serve {source.kind} any more"
            followed.is_listed = True
            await asyncio.sleep(_LONGEST_PAUSE)
            return
        labels = {
            sources.Role.APPLIED: _APPLIED_LABEL,
            sources.Role.INVENTORIES: inventory.LABEL,
        }
        events = client.watch(
            resource,
            namespace=place.namespace if resource.namespaced else "",
            label_selector=labels.get(source.role, ""),
            field_selector=_WARNINGS_ONLY if source.role is sources.Role.EVENTS else "",
        )
        async with aclosing(events):
            async for event in events:
                await self._take(place, event)
                followed.problem = ""
                if not followed.is_listed:
                    followed.is_listed = True
                    self._once_listed.update(self.listed)
                    self._look_again.set()
                elif source.role is sources.Role.INVENTORIES:
                    self._look_again.set()
                self._around.on_change()

    async def _resource(
        self, client: clients.Client, source: sources.Source
    ) -> discovery.Resource | None:
        found = (await client.discover()).find(source.group, source.kind)
        if found is None:
            found = (await client.discover(refresh=True)).find(source.group, source.kind)
        return found

    async def _take(self, place: _Place, event: clients.WatchEvent) -> None:
        source = place.source
        if event.kind is clients.WatchKind.DELETED:
            self._known.remove(source, objects.uid(event.body))
            return
        is_whole = event.kind is clients.WatchKind.RELISTED
        bodies = event.items if is_whole else (event.body,)
        bodies = tuple(body for body in bodies if self._counts(place, body))
        # Of users' rules a single one may take a while.
        many = work_threads.EVERY if self._has_rules(source) and bodies else bodies
        read = await work_threads.run_many(
            many,
            f"reading {source.kind} of {self._name}",
            entries.read_all,
            source,
            bodies,
            self._around.reading,
        )
        if is_whole:
            self._unreadable[source] = 0
        if read.unreadable:
            self._unreadable[source] = self._unreadable.get(source, 0) + read.unreadable
        if is_whole:
            self._known.replace(source, place.namespace, read.entries)
            return
        for entry in read.entries:
            self._known.keep(source, entry)
        if not read.entries:
            # It is nobody's any more, or has nothing to show.
            self._known.remove(source, objects.uid(event.body))

    def _counts(self, place: _Place, body: json.JsonObject) -> bool:
        is_narrow = place.source.role in (sources.Role.CHILDREN, sources.Role.EVENTS)
        if place.namespace or not is_narrow:
            return True
        return objects.text(body, "metadata", "namespace") in place.scope

    def _has_rules(self, source: sources.Source) -> bool:
        reading = self._around.reading
        return any(
            (rule.group, rule.kind) == (source.group, source.kind)
            for rules in (reading.rules, *reading.own_rules.values())
            for rule in rules
        )

    def _set_status(self, reason: str) -> None:
        if not reason and not self._is_complete:
            waiting = [
                place.source.kind
                for place, followed in self._followed.items()
                if not followed.is_listed and not followed.problem
            ]
            if not self._followed or waiting:
                named = f": {phrases.first_of(sorted(set(waiting)), 3)}" if waiting else ""
                reason = f"it is being listed{named}"
            # What comes into use later is listed then; `listed` tells of each kind.
            self._is_complete = not reason
        status = ClusterStatus(reason, self._warnings())
        if status == self.status:
            return
        became_current = bool(self.status.stale_reason) and not reason
        self.status = status
        if became_current:
            self._known.mark_all()
        self._around.on_change()

    def _warnings(self) -> tuple[str, ...]:
        said = [followed.problem for followed in self._followed.values() if followed.problem]
        said += [
            f"{phrases.count(count, 'object')} of kind {source.kind} could not be understood"
            for source, count in self._unreadable.items()
            if count
        ]
        left_out = len(self._known.kinds) - sources.MOST_KINDS
        if left_out > 0:
            said.append(f"{phrases.count(left_out, 'kind')} more than are followed are not shown")
        said += self._known.warnings()
        return tuple(sorted(set(said))[:_MOST_WARNINGS])


def _covers(one: _Place, other: _Place) -> bool:
    return one.source == other.source and one.namespace in ("", other.namespace)


def _sentence(error: errors.VolaryError) -> str:
    if isinstance(error, errors.UserError):
        return error.problems[0].message
    return f"the cluster does not answer: {error}"


async def _first_of(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _now() -> float:
    return asyncio.get_running_loop().time()
