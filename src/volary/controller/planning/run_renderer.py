"""The two sources of a run: what they render to for each cluster, and its digests."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from volary.controller.planning import projects, replica_assignment
from volary.model import applications
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.replicas import assignment
from volary.sources.rendering import renderers, workspace
from volary.sources.trees import trees
from volary.stages.runtime import contexts

Manifests = list[manifest.Manifest]


@dataclass(frozen=True, slots=True)
class RunSource:
    """One of the two sources, with its own description and files."""

    commit: str
    files: trees.Tree
    application: applications.Application
    directory: str


@dataclass(slots=True)
class RunRenderer:
    """Renders either side for a target; what was rendered is kept by the renderer."""

    sides: Mapping[str, RunSource]
    renderer: renderers.Renderer = field(default_factory=renderers.Renderer)
    members: fleets.Fleet | None = None
    #: Who gets how many replicas.
    numbers: replica_assignment.ReplicaNumbers = field(
        default_factory=replica_assignment.ReplicaNumbers
    )
    #: The new commit; every other one has the numbers from before.
    new: str = ""

    async def render(self, commit: str, target: str) -> Manifests:
        """Return the manifests of a commit for a target, as the run brings it."""
        now = commit == self.new
        return await self._render(commit, target, self.numbers.now if now else self.numbers.before)

    async def render_before(self, commit: str, target: str) -> Manifests:
        """Return them as they were before: the same commit may have been divided otherwise."""
        return await self._render(commit, target, self.numbers.before)

    async def undivided(self, commit: str, target: str) -> Manifests:
        """Return the manifests before anything in them is made different for the target."""
        side = self.sides[commit]
        rendered = await self.renderer.undivided(
            side.files, side.application, directory=side.directory, target=target
        )
        return list(rendered.manifests)

    async def _render(self, commit: str, target: str, assigned: assignment.Assignment) -> Manifests:
        side = self.sides[commit]
        rendered = await self.renderer.render(
            side.files,
            side.application,
            directory=side.directory,
            target=target,
            members=self.members,
            assigned=assigned,
        )
        return list(rendered.manifests)

    @asynccontextmanager
    async def checkout(self, commit: str) -> AsyncIterator[contexts.Workspace]:
        """Put the application's directory at a commit into a fresh private one, for a script.

        Raises:
            errors.UserError: It cannot be read, or is too large.
        """
        side = self.sides[commit]
        limits = workspace.Limits()
        async with workspace.private_directory(side.files, (side.directory,), limits) as (
            home,
            root,
        ):
            yield contexts.Workspace(home, root / side.directory)


async def digests_by_target(
    renderer: renderers.Renderer,
    project: projects.Project,
    targets: Sequence[str],
    members: fleets.Fleet,
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
    digests = {}
    for target in targets:
        rendered = await renderer.render(
            project.files,
            described,
            directory=project.directory,
            target=target,
            members=members,
            assigned=assigned,
        )
        digests[target] = f"{rendered.digest} {policy}" if undecided else rendered.digest
    return digests
