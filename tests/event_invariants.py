"""What must hold of all events of runs in waves: their order and their budgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from volary.engine.observers import feed

GATE = "WAVE_GATE"
FAILED, UNREACHABLE = "failed", "unreachable"
_HELD = ("succeeded", "skipped")


@dataclass(frozen=True)
class Allowed:
    """How many clusters of each wave a run may go without; in all waves together: `total`."""

    failures: int = 0
    unreachable: int = 0
    total: int | None = None

    @property
    def both(self) -> int:
        """As many clusters of a wave may not hold for either reason."""
        return self.failures + self.unreachable


@dataclass
class _Run:
    """What one run has reported."""

    waves: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    #: How the last gate of a cluster ended; empty while it runs.
    gates: dict[str, str] = field(default_factory=dict)
    #: Failed or unreachable, and not begun again.
    gone: dict[str, str] = field(default_factory=dict)
    #: Found unreachable, and asked nothing since.
    lost: set[str] = field(default_factory=set)


@dataclass
class Events:
    """Goes through events in order, of any number of runs."""

    allowed: Allowed
    broken: list[str] = field(default_factory=list)
    #: How many tasks of waves began.
    begun: int = 0
    _runs: dict[str, _Run] = field(default_factory=dict)

    def hear(self, event: feed.RunEvent | Mapping[str, Any]) -> None:
        """Take an event as observers get it, or its JSON form as it is kept."""
        said = feed.to_json(event) if isinstance(event, feed.RunEvent) else event
        run = self._runs.setdefault(str(said["run"]), _Run())
        match said["event"]:
            case "task-started":
                # A rollback asks, too.
                run.lost.discard(said["target"])
            case "task-finished" if said["status"] == UNREACHABLE:
                run.lost.add(said["target"])
        match said["event"]:
            case "run-started":
                run.waves = dict(said["waves"])
                run.left_out = set(said["leftOut"])
            case "task-started" if wave := _wave(run, said):
                self._starts(run, wave, said)
            case "task-finished" if _wave(run, said):
                _ends(run, said)

    def is_unreachable(self, target: str) -> bool:
        """Some run takes the cluster for unreachable and asks nothing of it."""
        return any(target in run.lost for run in self._runs.values())

    def is_excused(self, target: str) -> bool:
        """Some run goes on without the cluster, or waits for it; budgets count it."""
        return any(target in run.gone or target in run.left_out for run in self._runs.values())

    @property
    def waves(self) -> list[Sequence[str]]:
        """The clusters of each wave, as the last run in waves said."""
        known = [run.waves for run in self._runs.values() if run.waves]
        return list(known[-1].values()) if known else []

    def _starts(self, run: _Run, wave: str, said: Mapping[str, Any]) -> None:
        target, stage = said["target"], said["stage"]
        self.begun += 1
        if run.gone.get(target) == UNREACHABLE:
            # A failure counts for good; who could not be reached is asked again.
            del run.gone[target]
        if said["stageName"] == GATE:
            run.gates[target] = ""
        for name, targets in run.waves.items():
            if name != wave:
                for each in targets:
                    if not _is_settled(run, each):
                        self.broken.append(
                            f"{stage} begins on {target} before {each} of {name} holds"
                        )
            self._budget(run, f"{stage} begins on {target}", name, targets)
            if name == wave:
                break
        if self.allowed.total is not None and len(run.gone) > self.allowed.total:
            self.broken.append(f"{stage} begins on {target}, but all waves lost {_named(run.gone)}")

    def _budget(self, run: _Run, what: str, name: str, targets: Sequence[str]) -> None:
        for status, most in (
            (FAILED, self.allowed.failures),
            (UNREACHABLE, self.allowed.unreachable),
        ):
            gone = [each for each in targets if run.gone.get(each) == status]
            if len(gone) > most:
                self.broken.append(
                    f"{what}, but of {name} {len(gone)} are {status}, {most} may be: {_named(gone)}"
                )


def _wave(run: _Run, said: Mapping[str, Any]) -> str:
    """The wave of an event's stage; empty for a rollback, and for runs without waves."""
    name, slash, _ = str(said["stage"]).rpartition("/")
    return name if slash and name in run.waves else ""


def _ends(run: _Run, said: Mapping[str, Any]) -> None:
    target, status = said["target"], said["status"]
    if status in (FAILED, UNREACHABLE):
        # Also one that never began.
        run.gone[target] = status
    if said["stageName"] == GATE:
        run.gates[target] = status


def _is_settled(run: _Run, target: str) -> bool:
    """It has proven itself, or counts in a budget, or was never part of it."""
    return run.gates.get(target, "") in _HELD or target in run.gone or target in run.left_out


def _named(names: Sequence[str] | Mapping[str, str]) -> str:
    return ", ".join(sorted(names))
