"""What a person may see: the applications, clusters and projects that their grants cover.

Who may see everything is shown everything. Everybody else is shown what is theirs, and not that
there is anything besides: lists, pages and counts are those of what they may see, and what they
may not see is answered as what does not exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import structs
from starlette import requests

from volary.config.text import globs
from volary.controller import refusals
from volary.controller.api import cluster_service, representations, service
from volary.controller.api.screens import overview, overview_service
from volary.model import projects
from volary.model.fleet import fleets, selectors
from volary.server import permissions, server_state, shared_reads
from volary.store import records


@dataclass(slots=True)
class Visibility:
    """Answers for one person; remembers for as long as one request lasts."""

    person: permissions.Person
    service: service.Service
    permission: permissions.Permission = permissions.Permission.VIEW
    #: For streams, whose viewers ask for the same at the same time.
    reads: shared_reads.SharedReads | None = None
    _known: dict[str, bool] = field(default_factory=dict)

    @property
    def is_unrestricted(self) -> bool:
        """Whether there is nothing that this person may not see."""
        return self.person.may_everywhere(self.permission)

    # Applications.

    def shows(self, application: representations.Application) -> bool:
        """Say whether an application that was read may be seen."""
        subject = permissions.Subject(application.labels, application.project)
        return self.person.may(self.permission, subject)

    async def can_see(self, application: str) -> bool:
        """Say whether an application may be seen; one that is not known may not."""
        if self.is_unrestricted:
            return True
        if application not in self._known:
            known = await self._read(application)
            self._known[application] = known is not None and self.shows(known)
        return self._known[application]

    async def _read(self, application: str) -> representations.Application | None:
        async def read() -> representations.Application | None:
            try:
                return await self.service.application(application)
            except refusals.NotFound:
                return None

        if self.reads is None:
            return await read()
        return await self.reads.read(("application", application), read)

    async def names(self) -> frozenset[str] | None:
        """Return the applications that may be seen; None: all."""
        if self.is_unrestricted:
            return None
        everything = self.service.every_application(records.ApplicationFilter(with_removed=True))
        return frozenset([item.name async for item in everything if self.shows(item)])

    async def narrowed(self, application: str) -> frozenset[str] | None:
        """Return what a list is narrowed to that may be asked for one application; None: nothing.

        Empty: no application is asked for, so those that may be seen.
        """
        if not application:
            return await self.names()
        return frozenset({application} if await self.can_see(application) else ())

    # Projects.

    def can_see_project(self, name: str) -> bool:
        """Say whether a project may be seen: whoever has a role in it, for whichever labels."""
        return self.is_unrestricted or any(
            self.permission in grant.permissions and name in grant.projects
            for grant in self.person.grants
        )

    async def projects(self) -> frozenset[str] | None:
        """Return the names of the projects that may be seen; None: all."""
        if self.is_unrestricted:
            return None
        return frozenset(filter(self.can_see_project, self.service.current_projects().by_name))

    # Clusters.

    async def clusters(self) -> "VisibleClusters":
        """Return which clusters may be seen, as things are now."""
        if self.is_unrestricted:
            return VisibleClusters(None)
        members = self.service.fleet.register.members
        destinations = _destinations(self)
        names = _named(self, destinations)
        async for application, clusters in self.service.applications_and_clusters():
            if self.shows(application):
                names |= clusters
        return VisibleClusters(frozenset(names), destinations, members)

    def audience(self) -> overview_service.Audience:
        """Return with whom this person sees the same of the first screen."""
        if self.is_unrestricted:
            return overview_service.EVERYBODY

        def shows(line: overview.ApplicationLine) -> bool:
            subject = permissions.Subject(line.labels, line.project)
            return self.person.may(self.permission, subject)

        clusters = frozenset(_named(self, _destinations(self)))
        key = (frozenset(self.person.grants), self.permission, clusters)
        return overview_service.Audience(key, shows, clusters)


@dataclass(frozen=True, slots=True)
class VisibleClusters:
    """Which clusters somebody may see, and what of them."""

    #: None: every one, whole.
    names: frozenset[str] | None
    #: Of the projects that may be seen.
    destinations: tuple[projects.Destination, ...] = ()
    members: fleets.Fleet = field(default_factory=fleets.Fleet)

    def shows(self, name: str) -> bool:
        """Say whether a cluster may be seen."""
        return self.names is None or name in self.names

    def of(self, clusters: Iterable[cluster_service.Cluster]) -> list[cluster_service.Cluster]:
        """Return those of some clusters that may be seen, as far as they may."""
        names = self.names
        if names is None:
            return list(clusters)
        return [self._narrowed(cluster) for cluster in clusters if cluster.name in names]

    def _narrowed(self, cluster: cluster_service.Cluster) -> cluster_service.Cluster:
        """Return a cluster without the namespaces of others that the fleet lists for it."""
        member = next((one for one in self.members.clusters if one.name == cluster.name), None)
        patterns = [
            pattern
            for place in self.destinations
            if member is not None and selectors.matches(place.clusters, member)
            for pattern in place.namespaces
        ]
        allowed = tuple(
            name
            for name in cluster.namespaces
            if any(globs.matches([pattern], name) for pattern in patterns)
        )
        return structs.replace(cluster, namespaces=allowed)


def _destinations(seen: Visibility) -> tuple[projects.Destination, ...]:
    """Return where the projects that may be seen may be."""
    return tuple(
        destination
        for name, project in seen.service.current_projects().by_name.items()
        if seen.can_see_project(name)
        for destination in project.destinations
    )


def _named(seen: Visibility, destinations: tuple[projects.Destination, ...]) -> set[str]:
    """Return the clusters of some destinations."""
    return {
        member.name
        for member in seen.service.fleet.register.members.clusters
        if any(selectors.matches(place.clusters, member) for place in destinations)
    }


def of(request: requests.Request, reads: shared_reads.SharedReads | None = None) -> Visibility:
    """Return what the person behind a request may see; streams share what they read for that."""
    here = server_state.of(request)
    return Visibility(server_state.person(request), here.service, reads=reads)
