"""What of an application its project does not permit, each in a sentence with the project's name.

The same rules hold when a run is planned and right before each write.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from volary.config.text import globs
from volary.model import projects
from volary.model.fleet import fleets, selectors
from volary.model.pipeline.stage_kinds import external_stages, stage_kind


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object, as a cluster serves it."""

    group: str
    kind: str
    is_namespaced: bool

    @property
    def is_namespace(self) -> bool:
        """Whether it is that of namespaces themselves."""
        return self.kind == "Namespace" and not self.group

    def __str__(self) -> str:
        return f"{self.kind} ({self.group})" if self.group else self.kind


def refusal_of_cluster(project: projects.Project, cluster: fleets.Cluster) -> str:
    """Return why a project may not deploy to a cluster; empty: it may."""
    if _destinations(project, cluster):
        return ""
    return f"project {project.name} may not deploy to cluster {cluster.name}"


def refusal_of_stage(project: projects.Project, kind: stage_kind.StageKind[Any]) -> str:
    """Return why a project may not have a stage; empty: it may.

    Stages that Volary adds by itself, such as a rollback, need no permission.
    """
    if not kind.is_listed:
        return ""
    if kind is external_stages.SCRIPT_RUN and project.scripts is projects.ScriptRule.DENY:
        return f"project {project.name} may not run scripts ({kind.name})"
    allowed = project.stages
    if allowed is None or kind.name in map(stage_kind.canonical, allowed):
        return ""
    return f"project {project.name} may not have the stage {kind.name}"


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
    place = name if kind.is_namespace else namespace
    if not place and not kind.is_namespaced and not kind.is_namespace:
        return ""
    return _refusal_of_namespace(project, cluster, place)


#: How Volary's own records of an application begin: its inventory, and adopted objects as they were
#: (`clusters.inventory`).
_BOOKKEEPING = {"ConfigMap": "volary-inventory-", "Secret": "volary-snapshot-"}


def refusal_of_bookkeeping(
    project: projects.Project, cluster: fleets.Cluster, kind: str, *, namespace: str, name: str
) -> str:
    """Return why Volary may not keep a record for a project on a cluster; empty: it may.

    The records are Volary's and no part of what a team deploys. So they are there whichever kinds a
    project may have, but only where it may have objects. What a manifest calls so is no record:
    who writes says what for.
    """
    beginning = _BOOKKEEPING.get(kind)
    if beginning is None or not name.startswith(beginning):
        return f"{kind} {name} is no record of Volary"
    return refusal_of_cluster(project, cluster) or _refusal_of_namespace(
        project, cluster, namespace
    )


def refusal_of_place(project: projects.Project, cluster: fleets.Cluster, namespace: str) -> str:
    """Return why a project has nothing in a namespace of a cluster; empty: it may have.

    Args:
        project: Whose.
        cluster: Where.
        namespace: Empty: of the whole cluster.
    """
    refusal = refusal_of_cluster(project, cluster)
    return refusal or (_refusal_of_namespace(project, cluster, namespace) if namespace else "")


def named_namespaces(project: projects.Project) -> tuple[str, ...]:
    """Return the namespaces that a project's destinations name, without those of patterns."""
    names = [name for destination in project.destinations for name in destination.namespaces]
    return tuple(dict.fromkeys(name for name in names if not set(name) & set("*?[]{}!")))


def _refusal_of_namespace(
    project: projects.Project, cluster: fleets.Cluster, namespace: str
) -> str:
    allowed = [
        pattern
        for destination in _destinations(project, cluster)
        for pattern in destination.namespaces
    ]
    if namespace and _is_any(allowed, namespace):
        return ""
    return f"project {project.name} may not deploy to namespace {namespace} of {cluster.name}"


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
    return any(_matches(pattern, text) for pattern in patterns)


@functools.lru_cache(maxsize=4096)
def _matches(pattern: str, name: str) -> bool:
    # A glob covers what is below a directory; a name has nothing below it.
    return "/" not in name and globs.matches([pattern], name)
