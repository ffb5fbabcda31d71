"""The two sources of a run, and what they render to for each cluster."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from volary.controller import dividing
from volary.model import application as applications
from volary.model import fleet, manifest
from volary.placement import assignment
from volary.sources import render as renderers
from volary.sources import tree, workspace
from volary.stages import circumstances

Manifests = list[manifest.Manifest]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sources, with its own description and files."""

    commit: str
    files: tree.Tree
    application: applications.Application
    directory: str


@dataclass(slots=True)
class Rendering:
    """Renders either side for a target; what was rendered is kept by the renderer."""

    sides: Mapping[str, Side]
    renderer: renderers.Renderer = field(default_factory=renderers.Renderer)
    members: fleet.Fleet | None = None
    #: Who gets how many replicas.
    numbers: dividing.Numbers = field(default_factory=dividing.Numbers)
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
    async def checkout(self, commit: str) -> AsyncIterator[circumstances.Workspace]:
        """Put the application's directory at a commit into a fresh private one, for a script.

        Raises:
            errors.UserError: It cannot be read, or is too large.
        """
        side = self.sides[commit]
        limits = workspace.Limits()
        async with workspace.private(side.files, (side.directory,), limits) as (home, root):
            yield circumstances.Workspace(home, root / side.directory)
