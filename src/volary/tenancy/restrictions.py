"""What of an application its project does not permit, each in a sentence with the project's name.

The same rules hold when a run is planned and right before each write.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from volary.config.text import globs
from volary.model import projects
from volary.model.fleet import fleets, selectors


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object, as a cluster serves it."""

    group: str
    kind: str
    is_namespaced: bool

    def __str__(self) -> str:
        return f"{self.kind} ({self.group})" if self.group else self.kind


def refusal_of_cluster(project: projects.Project, cluster: fleets.Cluster) -> str:
    """Return why a project may not deploy to a cluster; empty: it may."""
    if _destinations(project, cluster):
        return ""
    return f"project {project.name} may not deploy to cluster {cluster.name}"


def refusal_of_object(
    project: projects.Project,
    cluster: fleets.Cluster,
    kind: ObjectKind,
    *,
    namespace: str = "",
    name: str = "",
) -> str:
    """Return why a project may not have an object on a cluster; empty: it may.

    Args:
        project: Whose.
        cluster: Where.
        kind: Which.
        namespace: Of the object; empty: it has none.
        name: Of the object; it matters where that is a Namespace, which counts as within itself.
    """
    refusal = refusal_of_cluster(project, cluster) or refusal_of_kind(project, kind)
    if refusal:
        return refusal
    place = name if not kind.group and kind.kind == "Namespace" else namespace
    if not place and not kind.is_namespaced:
        return ""
    allowed = [
        pattern
        for destination in _destinations(project, cluster)
        for pattern in destination.namespaces
    ]
    if place and _is_any(allowed, place):
        return ""
    return f"project {project.name} may not deploy to namespace {place} of {cluster.name}"


def refusal_of_kind(project: projects.Project, kind: ObjectKind) -> str:
    """Return why a project may not have objects of a kind anywhere; empty: it may."""
    kinds = project.kinds
    permitted = kinds.namespaced if kind.is_namespaced else kinds.cluster_scoped
    if _covers(permitted, kind) and not _covers(kinds.denied, kind):
        return ""
    return f"project {project.name} may not deploy {kind}"


def _destinations(project: projects.Project, cluster: fleets.Cluster) -> list[projects.Destination]:
    return [
        destination
        for destination in project.destinations
        if selectors.matches(destination.clusters, cluster)
    ]


def _covers(patterns: Iterable[projects.KindPattern], kind: ObjectKind) -> bool:
    return any(
        _is_any([pattern.kind], kind.kind)
        and (
            pattern.group == kind.group or (pattern.group and _is_any([pattern.group], kind.group))
        )
        for pattern in patterns
    )


def _is_any(patterns: Iterable[str], text: str) -> bool:
    return any(globs.matches([pattern], text) for pattern in patterns)
