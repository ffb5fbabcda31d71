"""The two sources of a run: what they render to for each cluster, and its digests."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from volary.concurrency import work_threads
from volary.controller.planning import opened_applications, planned_manifests, replica_assignment
from volary.manifests import redaction
from volary.model import applications
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
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
    #: What the run was planned with: only what is withheld there is rendered again.
    planned: planned_manifests.Planned = field(default_factory=dict)

    async def render(self, commit: str, target: str) -> Manifests:
        """Return the manifests of a commit for a target, as the run brings it.

        Raises:
            planned_manifests.DiffersError: They would not be what was planned.
        """
        return await self._side(planned_manifests.Side(commit, target, commit != self.new))

    async def render_before(self, commit: str, target: str) -> Manifests:
        """Return them as they were before: the same commit may have been divided otherwise.

        Raises:
            planned_manifests.DiffersError: They would not be what was planned.
        """
        return await self._side(planned_manifests.Side(commit, target, is_before=True))

    def settle(
        self,
        now: Mapping[str, Sequence[manifest.Manifest]],
        before: Mapping[str, Sequence[manifest.Manifest]],
        running: Mapping[str, str],
    ) -> None:
        """Plan with what was rendered, by target: from now on it stays as it is.

        What was planned before stays. `running` are the commits of what there is `before`.
        """
        side = planned_manifests.Side
        rendered = {side(self.new, target): items for target, items in now.items()}
        rendered |= {
            side(running[target], target, is_before=True): items for target, items in before.items()
        }
        self.planned = {**rendered, **self.planned}

    async def pack(self, masker: redaction.Masker) -> bytes:
        """Return what was planned as it is kept: without what Secrets hold."""
        commits = {side.commit for side in self.planned} & set(self.sides)
        keys = {commit: await self._digest_key(commit) for commit in commits}
        return await work_threads.run(
            "packing the manifests", planned_manifests.pack, self.planned, masker, keys
        )

    async def undivided(self, commit: str, target: str) -> Manifests:
        """Return the manifests before anything in them is made different for the target."""
        side = self.sides[commit]
        rendered = await self.renderer.undivided(
            side.files, side.application, directory=side.directory, target=target
        )
        return list(rendered.manifests)

    async def _side(self, side: planned_manifests.Side) -> Manifests:
        planned = self.planned.get(side)
        if planned is None:
            return await self._render(side)
        if planned_manifests.is_complete(planned):
            return list(planned)
        key = await self._digest_key(side.commit)
        return await work_threads.run(
            "comparing the manifests",
            planned_manifests.complete,
            planned,
            await self._render(side),
            key,
        )

    async def _digest_key(self, commit: str) -> bytes:
        """Return what only those who can read the repository know."""
        source = self.sides[commit]
        identity = await work_threads.run(
            f"reading {source.directory or '.'}", source.files.identity, source.directory
        )
        return hashlib.sha256(identity.encode()).digest()

    async def _render(self, side: planned_manifests.Side) -> Manifests:
        source = self.sides[side.commit]
        rendered = await self.renderer.render(
            source.files,
            source.application,
            directory=source.directory,
            target=side.target,
            members=self.members,
            assigned=self.numbers.before if side.is_before else self.numbers.now,
        )
        return list(rendered.manifests)

    @asynccontextmanager
    async def checkout(self, commit: str) -> AsyncIterator[contexts.Workspace]:
        """Put the application's directory at a commit into a fresh private one, for a script.

        As in PipeCD the targets of ``encryption`` and ``attachment`` are filled in; files of SOPS
        are as in Git.

        Raises:
            errors.UserError: It cannot be read or opened, or is too large.
        """
        side = self.sides[commit]
        files = await self.renderer.fill_in(side.files, side.application, side.directory)
        limits = workspace.Limits()
        async with workspace.private_directory(files, (side.directory,), limits) as (
            home,
            root,
        ):
            yield contexts.Workspace(home, root / side.directory)


async def digests_by_target(
    renderer: renderers.Renderer,
    opened: opened_applications.OpenedApplication,
    targets: Sequence[str],
    members: fleets.Fleet,
) -> Mapping[str, str]:
    """Return what manifests hash to, by target, without what free room decides.

    Raises:
        errors.UserError: They cannot be rendered.
    """
    described, policy = opened.application, opened.application.differences.replicas
    undecided = policy.needs_capacity
    if undecided:
        whole = replace(described.differences, replicas=overrides.ReplicaDivision())
        described = replace(described, differences=whole)
    digests = {}
    for target in targets:
        rendered = await renderer.render(
            opened.files,
            described,
            directory=opened.directory,
            target=target,
            members=members,
        )
        digests[target] = f"{rendered.digest} {policy}" if undecided else rendered.digest
    return digests
