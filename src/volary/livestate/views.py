"""Trees that somebody looks at: built when asked for, with the version in which each node changed.

Versions count up over all of them, from a number that no other process reaches: so a reader that
comes from another process, or comes back after a restart, is told everything anew. What nobody has
asked for in a while is forgotten.
"""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from volary.livestate import cluster_follower, live_trees
from volary.model.objects import manifest

#: Removed nodes that are remembered of a view.
_MOST_REMOVED = 5000
#: Views that are kept; the one that was asked for longest ago goes first.
_MOST_VIEWS = 4000
#: Seconds after which a view that nobody asks for is forgotten.
_KEPT = 300.0

#: A cluster and the id of an owner.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class View:
    """One application's tree in one cluster, as it is now or as it changed."""

    cluster: str
    #: In which version something of it changed last.
    version: int
    #: Its `nodes` are all of them, or those that are new or changed.
    tree: live_trees.LiveTree
    status: cluster_follower.ClusterStatus
    #: `uid` of nodes that are gone; of a difference only.
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Kept:
    tree: live_trees.LiveTree
    status: cluster_follower.ClusterStatus
    #: Differences are known from this version on.
    floor: int
    version: int
    #: By uid: in which version it changed.
    changed: dict[str, int]
    asked: float
    removed: deque[tuple[int, str]] = field(default_factory=deque)
    shown: dict[str, live_trees.TreeNode] = field(default_factory=dict)


#: Returns the tree and the status of a cluster as they are now.
Build = Callable[[str, str], tuple[live_trees.LiveTree, cluster_follower.ClusterStatus]]


class Views:
    """See the module."""

    def __init__(self, build: Build, first_version: int) -> None:
        self._build = build
        self._kept: dict[Key, _Kept] = {}
        #: The newest version of all.
        self.version = first_version

    @property
    def keys(self) -> tuple[Key, ...]:
        """What somebody looks at."""
        return tuple(self._kept)

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def whole(self, cluster: str, owner: str, now: float) -> View:
        """Return a tree as it is now."""
        kept = self._asked((cluster, owner), now)
        return View(cluster, kept.version, kept.tree, kept.status)

    def since(self, cluster: str, owner: str, version: int, now: float) -> View | None:
        """Return what changed after a version: everything where it is not known; None: nothing."""
        kept = self._asked((cluster, owner), now)
        if kept.version <= version <= self.version:
            return None
        if not kept.floor <= version <= self.version:
            return View(cluster, kept.version, kept.tree, kept.status)
        nodes = tuple(node for node in kept.tree.nodes if kept.changed[node.node.uid] > version)
        removed = tuple(uid for at, uid in kept.removed if at > version and uid not in kept.changed)
        return View(cluster, kept.version, replace(kept.tree, nodes=nodes), kept.status, removed)

    def is_known(self, cluster: str, owner: str, version: int) -> bool:
        """Say whether `since` of a version is a difference, and not everything."""
        kept = self._kept.get((cluster, owner))
        return kept is not None and kept.floor <= version <= self.version

    def refresh(self, key: Key) -> bool:
        """Look again at a tree that somebody looks at; say whether it has changed."""
        kept = self._kept.get(key)
        if kept is None:
            return False
        tree, status = self._build(*key)
        shown = {node.node.uid: node for node in tree.nodes}
        new = [uid for uid, node in shown.items() if kept.shown.get(uid) != node]
        gone = [uid for uid in kept.shown if uid not in shown]
        is_same = replace(tree, nodes=()) == replace(kept.tree, nodes=()) and status == kept.status
        if not new and not gone and is_same:
            return False
        self.version += 1
        for uid in gone:
            del kept.changed[uid]
            kept.removed.append((self.version, uid))
        for uid in new:
            kept.changed[uid] = self.version
        while len(kept.removed) > _MOST_REMOVED:
            kept.floor = kept.removed.popleft()[0]
        kept.tree, kept.status, kept.shown, kept.version = tree, status, shown, self.version
        return True

    def mark(self, key: Key, objects: Collection[manifest.ResourceKey] | None = None) -> bool:
        """Count nodes as changed, None: all of a tree: what is said of them elsewhere has.

        Returns whether somebody looks at it.
        """
        kept = self._kept.get(key)
        if kept is None:
            return False
        self.version += 1
        kept.version = self.version
        for uid, placed in kept.shown.items():
            if objects is None or placed.node.key in objects:
                kept.changed[uid] = self.version
        return True

    def forget_unasked(self, now: float) -> None:
        """Forget what nobody has asked for in a while, and what there is no room for."""
        ordered = sorted(self._kept.items(), key=lambda item: item[1].asked)
        beyond = len(ordered) - _MOST_VIEWS
        for place, (key, kept) in enumerate(ordered):
            if place < beyond or now - kept.asked > _KEPT:
                del self._kept[key]

    def _asked(self, key: Key, now: float) -> _Kept:
        kept = self._kept.get(key)
        if kept is None:
            tree, status = self._build(*key)
            self.version += 1
            shown = {node.node.uid: node for node in tree.nodes}
            changed = dict.fromkeys(shown, self.version)
            kept = _Kept(tree, status, self.version, self.version, changed, now, shown=shown)
            self._kept[key] = kept
        kept.asked = now
        return kept
