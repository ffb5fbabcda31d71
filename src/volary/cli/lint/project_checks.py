"""What ``volary lint --project`` says: what a project does not permit, without a server.

With a fleet it is known which clusters an application goes to, and what is different there. Without
one it is enough that some destination permits an object. No cluster is asked, so of a custom kind
whose definition is not among the manifests nothing is known: it counts as namespaced.
"""

import asyncio
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from volary.cli.lint import manifest_checks
from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks
from volary.controller.planning import project_checks
from volary.model import applications, errors, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import rollouts
from volary.sources.rendering import renderers
from volary.sources.trees import directories
from volary.tenancy import application_rules

_ANYWHERE = fleets.Cluster("any cluster")
#: Which namespace the usual one of a cluster is is not known here.
_UNKNOWN = ""


def findings(
    root: str,
    loaded: manifest_checks.LoadedFiles,
    project: projects.Project,
    members: fleets.Fleet | None,
) -> Iterator[errors.Problem]:
    """Yield what a project does not permit of applications and, where they render, of manifests."""
    renderer = renderers.Renderer()
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is None:
            continue
        for problem in _of_file(described, project, members):
            yield replace(problem, where=errors.Location(path))
        yield from _of_manifests(renderer, root, loaded_file, path, project, members)


def _of_file(
    described: applications.Application, project: projects.Project, members: fleets.Fleet | None
) -> list[errors.Problem]:
    if members is None:
        return application_rules.stage_problems(project, described.pipeline)
    return project_checks.of_application(project, described, members)


def _of_manifests(
    renderer: renderers.Renderer,
    root: str,
    loaded: application_files.Loaded,
    path: str,
    project: projects.Project,
    members: fleets.Fleet | None,
) -> Iterator[errors.Problem]:
    described, place = loaded.application, posixpath.dirname(path)
    assert described is not None
    clusters = fleet_checks.deployment_targets(described, members) if members else ()
    permitted = application_rules.permitted_clusters(project, clusters)
    rules = project if members else _anywhere(project)
    problems: dict[errors.Problem, None] = {}
    for cluster in permitted if members else (_ANYWHERE,):
        try:
            rendered = _rendered(renderer, root, described, place, cluster, members)
        except errors.UserError as error:
            reason = error.problems[0].message
            yield errors.Problem(
                f"whether project {project.name} permits its manifests was not checked: {reason}",
                errors.Location(path),
                severity=errors.Severity.WARNING,
            )
            return
        places = [
            found
            for found in application_rules.places(rendered, default=_UNKNOWN)
            if found.namespace or not found.kind.is_namespaced
        ]
        found = application_rules.object_problems(rules, cluster, places)
        found += application_rules.size_problems(rules, cluster.name, rendered)
        problems.update(dict.fromkeys(found))
    yield from (replace(problem, where=errors.Location(path)) for problem in problems)


def _rendered(
    renderer: renderers.Renderer,
    root: str,
    described: applications.Application,
    place: str,
    cluster: fleets.Cluster,
    members: fleets.Fleet | None,
) -> Sequence[manifest.Manifest]:
    """Return what a cluster gets; without a fleet, before anything is different there.

    Raises:
        UserError: That cannot be made here.
    """
    # A file that is named by itself is seen from its directory, else bases beside it are needed.
    files, target = directories.DirectoryTree(Path(root or place)), cluster.name
    directory = place if root else ""
    if members is None:
        made = renderer.undivided(files, described, directory=directory, target=target)
    else:
        made = renderer.render(
            files, described, directory=directory, target=target, members=members
        )
    try:
        return asyncio.run(made).manifests
    except errors.UserError:
        # Encrypted values stand in the way of rendering, not of reading plain files.
        readable = manifest_checks.plain_manifests(described, root, place)
        if not readable or described.differences.rules:
            raise
        return readable


def _anywhere(project: projects.Project) -> projects.Project:
    """Return a project that permits on one cluster what it permits on any."""
    destinations = tuple(
        replace(destination, clusters=rollouts.ClusterSelector())
        for destination in project.destinations
    )
    return replace(project, destinations=destinations)
