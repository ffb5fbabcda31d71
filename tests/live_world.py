"""Given clusters and what follows them; when something happens there; then look at the trees."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import process_time
from stage_world import Clock, World
from volary.livestate import live_state, live_trees, views
from volary.model.objects import ownership


@dataclass
class Followed:
    """Clusters that are followed."""

    given: World
    live: live_state.LiveState

    @property
    def owner(self) -> ownership.Owner:
        """Whose the shop's objects are."""
        return self.given.application.owner

    def view(self, cluster: str = "us", owner: ownership.Owner | None = None) -> views.View:
        return self.live.tree(cluster, owner or self.owner)

    async def until(
        self,
        holds: Callable[[views.View], bool],
        cluster: str = "us",
        owner: ownership.Owner | None = None,
    ) -> views.View:
        """Wait until a tree is so; woken by its changes alone."""
        try:
            async with asyncio.timeout(process_time.HANG):
                while not holds(found := self.view(cluster, owner)):
                    await self.live.changed(process_time.HANG)
                return found
        except TimeoutError:
            raise AssertionError(f"it never was so, but:\n{drawn(found)}") from None

    async def current(self, cluster: str = "us") -> views.View:
        return await self.until(lambda view: not view.status.stale_reason, cluster)


def kinds(view: views.View) -> list[str]:
    """Return the kinds of a tree, indented by depth."""
    return [line.split(" ")[0] for line in drawn(view).splitlines()[1:]]


def named(view: views.View, kind: str) -> list[live_trees.TreeNode]:
    return [node for node in view.tree.nodes if node.node.kind == kind]


def drawn(view: views.View) -> str:
    """Return a tree as text."""
    depth = {"": -1}
    lines = [f"{view.cluster}: {view.tree.health} {view.status}"]
    for placed in view.tree.nodes:
        node = placed.node
        depth[node.uid] = depth[placed.parent] + 1
        dots = "." * depth[node.uid]
        lines.append(f"{dots}{node.kind} {node.name} {node.health} {node.ready}/{node.total}")
    return "\n".join(lines)


@contextlib.asynccontextmanager
async def followed(given: World, **more: Any) -> AsyncIterator[Followed]:
    """Follow the clusters beside the block."""
    live = live_state.LiveState(given.clients, Clock(), **more)
    async with asyncio.TaskGroup() as group:
        following = group.create_task(live.keep_following())
        try:
            yield Followed(given, live)
        finally:
            following.cancel()
