"""All that a project does not permit of one application, as problems for the people who mend it.

Whether an object is in a namespace is not for its manifest to say: a ClusterRole with a
`metadata.namespace` belongs to the whole cluster all the same. The cluster is asked first, then the
definitions in the set, then the table of Kubernetes' own kinds. Where a definition of the set says
something else than the cluster, the object has to be permitted as both.
"""

import json as json_text
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.loading import namespace_scopes
from volary.model import errors, phrases, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.tenancy import restrictions

_NAMESPACE = restrictions.ObjectKind("", "Namespace", is_namespaced=False)


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """An object as it will be on a cluster."""

    kind: restrictions.ObjectKind
    #: Empty: it has none.
    namespace: str
    name: str
    #: Where it comes from, to say so.
    origin: errors.Location = errors.NOWHERE
    #: Of its manifest, as written; None: there is none.
    key: manifest.ResourceKey | None = None

    @property
    def title(self) -> str:
        """What people look for: its file, else its kind and name."""
        return self.origin.file or f"{self.kind.kind} {self.name}"


def permitted_clusters(
    project: projects.Project, clusters: Iterable[fleets.Cluster]
) -> tuple[fleets.Cluster, ...]:
    """Return the clusters that a project may deploy to; it sees no others."""
    return tuple(
        cluster for cluster in clusters if not restrictions.refusal_of_cluster(project, cluster)
    )


def cluster_problems(
    project: projects.Project, chosen: Sequence[fleets.Cluster], named: Iterable[str]
) -> list[errors.Problem]:
    """Return what is wrong with the clusters that an application chooses.

    Those that its file names are named, whether there are such clusters or not; others that the
    project may not see are counted.

    Args:
        project: Whose.
        chosen: What its targets choose of the whole fleet.
        named: The names that its file has.
    """
    allowed = permitted_clusters(project, chosen)
    known = {cluster.name for cluster in allowed}
    written = [name for name in dict.fromkeys(named) if name not in known]
    problems = [f"project {project.name} may not deploy to cluster {name}" for name in written]
    others = [
        cluster for cluster in chosen if cluster not in allowed and cluster.name not in written
    ]
    if others:
        count = phrases.count(len(others), "cluster")
        problems.append(
            f"project {project.name} may not deploy to {count} of {len(chosen)} that the"
            " application's targets choose"
        )
    hint = f"choose clusters of its destinations only, or {_who_decides(project)}"
    return [errors.Problem(problem, hint=hint) for problem in problems]


def stage_problems(
    project: projects.Project, stages: Iterable[pipelines.Stage]
) -> list[errors.Problem]:
    """Return the stages that a project may not have, each with its place in the pipeline."""
    problems = [
        errors.Problem(
            f"{refusal}: stage {stage.index + 1}",
            hint=f"remove the stage, or {_who_decides(project)}",
        )
        for stage in stages
        if (refusal := restrictions.refusal_of_stage(project, stage.kind))
    ]
    return list(dict.fromkeys(problems))


def object_problems(
    project: projects.Project, cluster: fleets.Cluster, places: Iterable[ObjectPlace]
) -> list[errors.Problem]:
    """Return the objects that a project may not have on a cluster, with the file of each."""
    problems: dict[errors.Problem, None] = {}
    for place in places:
        refusal = refusal_of_place(project, cluster, place)
        if refusal:
            found = errors.Problem(
                f"{refusal}: {place.title}", hint=f"remove it, or {_who_decides(project)}"
            )
            problems[found] = None
    return list(problems)


def refusal_of_place(project: projects.Project, cluster: fleets.Cluster, place: ObjectPlace) -> str:
    """Return why a project may not have an object; empty: it may."""
    return restrictions.refusal_of_object(
        project, cluster, place.kind, namespace=place.namespace, name=place.name
    )


def size_problems(
    project: projects.Project, target: str, manifests: Sequence[manifest.Manifest]
) -> list[errors.Problem]:
    """Return which limits of a project an application's manifests for a cluster exceed."""
    limits = project.limits
    problems = []
    if limits.objects and len(manifests) > limits.objects:
        problems.append(
            f"project {project.name} may have {phrases.count(limits.objects, 'object')} of one"
            f" application on a cluster: {target} would get {len(manifests)}"
        )
    if limits.rendered_bytes:
        size = rendered_bytes(manifests)
        if size > limits.rendered_bytes:
            problems.append(
                f"project {project.name} may have {limits.rendered_bytes} bytes of rendered"
                f" manifests for a cluster: {target} would get {size}"
            )
    hint = f"divide the application, or {_who_decides(project)}"
    return [errors.Problem(problem, hint=hint) for problem in problems]


def rendered_bytes(manifests: Iterable[manifest.Manifest]) -> int:
    """Return the size of manifests as compact JSON in UTF-8."""
    return sum(
        len(json_text.dumps(item.body, ensure_ascii=False, separators=(",", ":")).encode())
        for item in manifests
    )


def places(
    manifests: Sequence[manifest.Manifest],
    *,
    default: str,
    served: namespace_scopes.Scope | None = None,
) -> Iterator[ObjectPlace]:
    """Yield where each object will be; twice, where it is not known which of two it is.

    Args:
        manifests: The whole set.
        default: Namespace of what is namespaced and names none.
        served: What the cluster says of a kind; None: it cannot be asked.
    """
    defined = _defined_scopes(manifests)
    for item in manifests:
        for is_namespaced in _scopes(item, defined, served):
            kind = restrictions.ObjectKind(item.group, item.kind, is_namespaced)
            namespace = (item.namespace or default) if is_namespaced else ""
            yield ObjectPlace(kind, namespace, item.name, item.origin, item.key)


def unknown_kind_problems(
    project: projects.Project,
    manifests: Sequence[manifest.Manifest],
    served: namespace_scopes.Scope,
) -> list[errors.Problem]:
    """Return the kinds of which nothing says whether they are namespaced: they are refused."""
    defined = _defined_scopes(manifests)
    unknown = {
        f"{item.kind} ({item.group})": item
        for item in manifests
        if not _known_scopes(item, defined, served)
    }
    return [
        errors.Problem(
            f"project {project.name} may not deploy {title}, which the cluster does not serve:"
            f" {item.origin.file or item.name}",
            hint="install its CustomResourceDefinition, or add that to the manifests",
        )
        for title, item in unknown.items()
    ]


def created_namespaces(names: Iterable[str]) -> Iterator[ObjectPlace]:
    """Yield the namespaces that `autoCreateNamespace` would make."""
    for name in names:
        yield ObjectPlace(_NAMESPACE, "", name)


def _defined_scopes(manifests: Iterable[manifest.Manifest]) -> dict[tuple[str, str], set[bool]]:
    """Return what the definitions in a set say of their kinds; several may say different things."""
    defined: dict[tuple[str, str], set[bool]] = {}
    for item in manifests:
        if item.kind == "CustomResourceDefinition":
            group = objects.text(item.body, "spec", "group")
            kind = objects.text(item.body, "spec", "names", "kind")
            is_namespaced = objects.text(item.body, "spec", "scope") != "Cluster"
            defined.setdefault((group, kind), set()).add(is_namespaced)
    return defined


def _known_scopes(
    item: manifest.Manifest,
    defined: dict[tuple[str, str], set[bool]],
    served: namespace_scopes.Scope | None,
) -> Collection[bool]:
    known = set(defined.get((item.group, item.kind), ()))
    answer = served(item.group, item.kind) if served is not None else None
    if answer is None and (not known or namespace_scopes.is_cluster_scoped(item)):
        answer = namespace_scopes.scope(())(item.group, item.kind)
    return known if answer is None else known | {answer}


def _scopes(
    item: manifest.Manifest,
    defined: dict[tuple[str, str], set[bool]],
    served: namespace_scopes.Scope | None,
) -> Sequence[bool]:
    return sorted(_known_scopes(item, defined, served) or {True})


def _who_decides(project: projects.Project) -> str:
    return f"let who keeps the file of project {project.name} permit it"
