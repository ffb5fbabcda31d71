"""What an application's manifests hash to: whether two commits say the same, in content."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from volary.controller import projects
from volary.model import fleet, overrides
from volary.placement import assignment
from volary.sources import render as renderers


async def digests(
    renderer: renderers.Renderer,
    project: projects.Project,
    targets: Sequence[str],
    members: fleet.Fleet,
    assigned: assignment.Assignment | None = None,
) -> Mapping[str, str]:
    """Return what manifests hash to, by target.

    Where nothing was assigned, without what free room decides.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    described, policy = project.application, project.application.differences.replicas
    undecided = assigned is None and policy.needs_capacity
    if undecided:
        whole = replace(described.differences, replicas=overrides.ReplicaDivision())
        described = replace(described, differences=whole)
    found = {}
    for target in targets:
        rendered = await renderer.render(
            project.files,
            described,
            directory=project.directory,
            target=target,
            members=members,
            assigned=assigned,
        )
        found[target] = f"{rendered.digest} {policy}" if undecided else rendered.digest
    return found
