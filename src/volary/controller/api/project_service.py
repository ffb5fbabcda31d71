"""What people see of projects: what each may do, and why something is not permitted.

Whom a project is shown to is not decided here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.projects import project_registry
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses
from volary.manifests.loading import namespace_scopes
from volary.model import errors, project_identities, projects
from volary.model.fleet import fleets, selectors
from volary.store import pagination, records, stores
from volary.tenancy import membership, restrictions


class ProjectSource(representations.Representation, frozen=True):
    """Application files that belong to a project."""

    #: Globs; without paths or branches: all.
    repository: str
    paths: tuple[str, ...]
    branches: tuple[str, ...]


class ProjectDestination(representations.Representation, frozen=True):
    """Where a project's applications may have objects."""

    #: The clusters of the fleet that are meant now.
    clusters: tuple[str, ...]
    #: Globs.
    namespaces: tuple[str, ...]


class ProjectRole(representations.Representation, frozen=True):
    """Who has a role for a project's applications."""

    role: str
    groups: tuple[str, ...]
    subjects: tuple[str, ...]


class Project(representations.Representation, frozen=True):
    """What the applications of one team may do."""

    name: str
    description: str
    sources: tuple[ProjectSource, ...]
    destinations: tuple[ProjectDestination, ...]
    #: All clusters of its destinations, in the order of the fleet.
    clusters: tuple[str, ...]
    #: Globs such as ``Deployment.apps``; those of the core group have no group.
    namespaced_kinds: tuple[str, ...]
    cluster_scoped_kinds: tuple[str, ...]
    denied_kinds: tuple[str, ...]
    #: Names of stages; null: all.
    stages: tuple[str, ...] | None
    #: ``allow`` or ``deny``.
    scripts: str
    #: ``runs``, ``clusters``, ``objects`` and ``rendered_bytes``; 0: as much as the server takes.
    limits: Mapping[str, int]
    roles: tuple[ProjectRole, ...]
    #: As whom API servers take what is done for it; empty: as the server itself.
    identity: str
    #: How many applications belong to it.
    applications: int


class ProjectFiles(representations.Representation, frozen=True):
    """Where the projects that count come from."""

    #: There are projects, so that an application needs one.
    in_use: bool
    #: The repository that has project files; empty: none has.
    repository: str
    #: Its commit whose files count; empty: there is none.
    commit: str
    #: Why a newer commit does not count; empty: it does, or it is not yours to see.
    problem: str
    #: Why it is not known which projects there are; empty: it is known.
    unknown: str


class ProjectPermission(representations.Representation, frozen=True):
    """Whether a project permits something."""

    project: str
    permitted: bool
    #: Why, one sentence.
    reason: str
    #: The clusters where it is permitted.
    clusters: tuple[str, ...]


@dataclass(slots=True)
class ProjectService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    registry: project_registry.ProjectRegistry

    def files(self) -> ProjectFiles:
        """Return where the projects come from, and whether that can be read."""
        now = self.registry.current()
        return representations.build(
            ProjectFiles,
            self.registry,
            now,
            in_use=now.are_in_use,
            repository=self.registry.written.repository,
        )

    async def list(self) -> tuple[Project, ...]:
        """Return all projects by name."""
        known = self.registry.current().by_name
        counts = await self._counts()
        return tuple(self._view(known[name], counts[name]) for name in sorted(known))

    async def get(self, name: str) -> Project:
        """Return one project.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        project = self._project(name)
        return self._view(project, (await self._counts(name))[name])

    async def explain_application(self, name: str, application: str) -> ProjectPermission:
        """Say whether an application belongs to a project, or why not.

        Raises:
            refusals.NotFound: There is no such project, or no such application.
        """
        project = self._project(name)
        found = await self.store.applications.get(application)
        known = refusals.required(found, "application", application)
        place = membership.Place(known.repository, known.path, known.branch)
        wanted = application_statuses.of_record(known).wanted_project
        mine = self.registry.current().membership(place, wanted)
        reason = mine.reason or f"{application} belongs to another project"
        is_mine = mine.project == name
        if is_mine:
            reason = f"{name} takes {known.path} of the repository {known.repository}"
        clusters = self._names(project) if is_mine else ()
        return ProjectPermission(name, is_mine, reason, clusters)

    def explain_object(
        self, name: str, group: str, kind: str, *, cluster: str = "", namespace: str = ""
    ) -> ProjectPermission:
        """Say whether a project may have an object of a kind somewhere, or why not.

        Args:
            name: Of the project.
            group: API group; empty: the core group.
            kind: Its kind. One that nobody knows without a cluster is in a namespace if one is
                named.
            cluster: Where; empty: on any cluster of the fleet.
            namespace: Which; of a Namespace its own name.

        Raises:
            refusals.NotFound: There is no such project.
            errors.UserError: The kind is in namespaces, and none is named.
        """
        project, members = self._project(name), self._fleet().clusters
        if cluster and cluster not in self._names(project):
            reason = f"project {name} may not deploy to cluster {cluster}"
            return ProjectPermission(name, False, reason, ())
        scope = namespace_scopes.scope(())(group, kind)
        is_namespaced = bool(namespace) if scope is None else scope
        asked = restrictions.ObjectKind(group, kind, is_namespaced)
        refusal = restrictions.refusal_of_kind(project, asked)
        if refusal:
            return ProjectPermission(name, False, refusal, ())
        is_namespace = not group and kind == "Namespace"
        if (is_namespaced or is_namespace) and not namespace:
            raise errors.user_error(
                f"it depends on the namespace whether {kind} is permitted", hint="name one"
            )
        asked_clusters = [one for one in members if cluster in ("", one.name)]
        refused = {
            one.name: restrictions.refusal_of_object(
                project,
                one,
                asked,
                namespace=namespace if is_namespaced else "",
                name=namespace if is_namespace else "",
            )
            for one in asked_clusters
        }
        permitted = tuple(one for one, why in refused.items() if not why)
        if permitted:
            where = f" in namespace {namespace}" if namespace else ""
            return ProjectPermission(name, True, f"{name} may deploy {asked}{where}", permitted)
        mine = [refused[one] for one in self._names(project) if one in refused]
        reason = mine[0] if mine else f"project {name} has no cluster in the fleet"
        return ProjectPermission(name, False, reason, ())

    def _project(self, name: str) -> projects.Project:
        return refusals.required(self.registry.current().by_name.get(name), "project", name)

    def _fleet(self) -> fleets.Fleet:
        return self.dependencies.clusters.fleet

    def _names(self, project: projects.Project) -> tuple[str, ...]:
        """Return the clusters where a project may have anything."""
        return tuple(
            one.name
            for one in self._fleet().clusters
            if not restrictions.refusal_of_cluster(project, one)
        )

    async def _counts(self, project: str = "") -> Counter[str]:
        """Return how many applications belong to each project, or to one."""
        wanted = records.ApplicationFilter(project=project)
        pages = pagination.every(
            lambda cursor: self.store.applications.list(wanted, cursor=cursor, limit=500)
        )
        return Counter([known.project async for known in pages])

    def _view(self, project: projects.Project, count: int) -> Project:
        return representations.build(
            Project,
            project,
            sources=tuple(
                representations.build(ProjectSource, source) for source in project.sources
            ),
            destinations=tuple(
                ProjectDestination(
                    tuple(
                        one.name
                        for one in self._fleet().clusters
                        if selectors.matches(destination.clusters, one)
                    ),
                    destination.namespaces,
                )
                for destination in project.destinations
            ),
            clusters=self._names(project),
            namespaced_kinds=_patterns(project.kinds.namespaced),
            cluster_scoped_kinds=_patterns(project.kinds.cluster_scoped),
            denied_kinds=_patterns(project.kinds.denied),
            scripts=project.scripts.value,
            limits=asdict(project.limits),
            roles=tuple(
                ProjectRole(role.role.value, role.groups, role.subjects) for role in project.roles
            ),
            identity=_identity(project),
            applications=count,
        )


def _patterns(patterns: Sequence[projects.KindPattern]) -> tuple[str, ...]:
    return tuple(
        f"{pattern.kind}.{pattern.group}" if pattern.group else pattern.kind for pattern in patterns
    )


def _identity(project: projects.Project) -> str:
    """Return as whom API servers take what is done for a project; no file is named."""
    if project.credentials is not None:
        return "credentials of its own"
    given = project.impersonate
    if given is None:
        return ""
    if given.service_account is not None:
        return project_identities.user_of(given.service_account)
    groups = f" ({', '.join(given.groups)})" if given.groups else ""
    return f"{given.user}{groups}"
