"""Where the engine remembers: one record per transition.

In memory here; a durable journal keeps the same three things in one transaction, and
a later process goes on from `run` with `machine.outstanding`.
"""

from dataclasses import dataclass
from typing import Protocol

from volary.engine import events, machine, state


@dataclass(frozen=True, slots=True)
class Record:
    """One transition: what happened, what became of the run, what had to be done."""

    #: In order; one event, or several that arrived while the one before was being kept.
    happened: tuple[events.Event, ...]
    step: machine.Step


class Journal(Protocol):
    """Keeps transitions; a command is carried out only after its record is kept."""

    async def keep(self, record: Record) -> None:
        """Remember one transition; returns once it is safe."""
        ...


class MemoryJournal:
    """Keeps the newest state of each run, for as long as the process lives."""

    def __init__(self) -> None:
        self.runs: dict[str, state.Run] = {}

    async def keep(self, record: Record) -> None:
        """Remember the run; earlier states of it are forgotten."""
        self.runs[record.step.run.id] = record.step.run
