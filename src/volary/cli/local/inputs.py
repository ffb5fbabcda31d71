"""What commands without a server begin with: an application, its fleet, what clusters would get."""

from collections.abc import Iterable, Mapping, Sequence

from volary.cli import console
from volary.controller.planning import preparation, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.placement.replicas import assignment
from volary.sources.rendering import renderers

#: By cluster.
Manifests = Mapping[str, Sequence[manifest.Manifest]]


async def open_inputs(request: preparation.RunOptions) -> tuple[projects.Project, fleets.Fleet]:
    """Open an application and its fleet, and show what is wrong with them.

    Raises:
        errors.UserError: One of them cannot be read.
    """
    project = await projects.open_project(request.path, app=request.app, commit=request.commit)
    members = projects.load_fleet(request.fleet, request.contexts)
    problems = (*project.warnings, *projects.check_fleet(project, members))
    console.show_problems(console.messages(), problems)
    return project, members


async def undivided(project: projects.Project, targets: Iterable[str]) -> Manifests:
    """Return the manifests before clusters get anything different.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    renderer = renderers.Renderer()
    manifests = {}
    for target in targets:
        made = await renderer.undivided(
            project.files, project.application, directory=project.directory, target=target
        )
        manifests[target] = made.manifests
    return manifests


async def rendered(
    project: projects.Project,
    targets: Iterable[str],
    members: fleets.Fleet,
    assigned: assignment.Assignment,
) -> Manifests:
    """Return the manifests as a sync would apply them.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    renderer = renderers.Renderer()
    manifests = {}
    for target in targets:
        made = await renderer.render(
            project.files,
            project.application,
            directory=project.directory,
            target=target,
            members=members,
            assigned=assigned,
        )
        manifests[target] = made.manifests
    return manifests
