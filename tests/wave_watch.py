"""What must hold at every moment of a run in waves, whatever happens to its clusters."""

import contextlib
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from stage_world import World
from volary.engine import feed
from volary.model.status import TaskStatus
from volary.sandbox import faults, storage
from wave_world import Story

#: What Volary writes; pods come and go by the clusters themselves.
_OURS = ("Deployment", "Service", "ConfigMap")
_GONE_WITHOUT = (TaskStatus.FAILED, TaskStatus.UNREACHABLE)
_HELD = (TaskStatus.SUCCEEDED, TaskStatus.SKIPPED)


@dataclass
class Watch:
    """Goes through everything that was told, and sees every change in every cluster."""

    #: How many clusters of a wave may fail or be unreachable.
    budget: int
    #: What did not hold, as it was seen.
    broken: list[str] = field(default_factory=list)
    _gates: dict[tuple[int, str], bool] = field(default_factory=dict)
    _left_out: dict[int, set[str]] = field(default_factory=dict)

    def told(self, event: feed.RunEvent) -> None:
        """A cluster begins only when all waves before its own hold, within their budgets."""
        if not isinstance(event, feed.TaskEvent) or not event.stage.startswith("wave-"):
            return
        wave, is_gate = _wave(event.stage), event.stage_name == "WAVE_GATE"
        if isinstance(event, feed.TaskStarted):
            self._starts(wave, event)
            if is_gate:
                self._gates[wave, event.target] = False
        if isinstance(event, feed.TaskFinished):
            if is_gate:
                # Who is gone without counts in the budget instead.
                self._gates[wave, event.target] = event.status in (*_HELD, *_GONE_WITHOUT)
            if event.status in _GONE_WITHOUT:
                self._left_out.setdefault(wave, set()).add(event.target)

    def _starts(self, wave: int, event: feed.TaskEvent) -> None:
        for earlier in range(1, wave):
            gates = [held for (which, _), held in self._gates.items() if which == earlier]
            if not gates or not all(gates):
                self.broken.append(f"{event.stage} begins on {event.target} before wave {earlier}")
            gone = self._left_out.get(earlier, set())
            if len(gone) > self.budget:
                self.broken.append(f"{event.stage} begins, but wave {earlier} lost {gone}")


def _wave(stage: str) -> int:
    found = re.match(r"wave-(\d+)/", stage)
    assert found is not None, stage
    return int(found[1])


@contextlib.contextmanager
def watched(given: World, story: Story, *, budget: int) -> Iterator[None]:
    """Watch the block's run; at its end everything must have held all the time."""
    watch = Watch(budget)
    with contextlib.ExitStack() as stack:
        for name, cluster in given.running.clusters.items():
            changed = functools.partial(_changed, given, name, watch)
            stack.callback(cluster.registry.subscribe(changed))
        yield
    for each in story.told:
        watch.told(each)
    assert watch.broken == []


def _changed(given: World, name: str, watch: Watch, change: storage.Change) -> None:
    """Nothing is deleted where nobody can be reached, and no request is ever lost."""
    is_lost = given.running.clusters[name].faults.current.lost is not faults.Lost.NO
    kind = change.item.body.get("kind")
    if is_lost and change.event is storage.Event.DELETED and kind in _OURS:
        watch.broken.append(f"{kind} was deleted on {name}, which is lost")
    if given.find(name, "Service", "shop") is not None:
        seen = given.traffic(name)
        if seen.lost > 0:
            watch.broken.append(f"{name} lost {seen.lost:.0%} of its requests: {seen.reasons}")
