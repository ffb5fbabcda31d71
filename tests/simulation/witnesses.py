"""What a simulated world has seen, and what has to hold at every step of it."""

import functools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from simulation import clusters
from volary.engine.runs import state
from volary.model.runs import run_records
from volary.store import records, stores


@dataclass
class KeptRun:
    """A run as the store has it."""

    application: str
    version: int = 0
    is_final: bool = False
    touched: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Term:
    """Since when which process has held the lease."""

    number: int
    owner: str
    began: float


@dataclass
class Witness:
    """Sees every write to the store and to clusters once it is done; raises nothing itself."""

    now: Callable[[], float]
    terms: list[Term] = field(default_factory=list)
    runs: dict[str, KeptRun] = field(default_factory=dict)
    writes: list[clusters.Write] = field(default_factory=list)
    #: Comments of approvals that are kept.
    approvals: set[str] = field(default_factory=set)
    requests: dict[str, records.RequestRecord] = field(default_factory=dict)
    #: What requests were answered first, by their ids; empty: it is done.
    answers: dict[str, str] = field(default_factory=dict)
    #: What did not hold.
    broken: list[str] = field(default_factory=list)

    def watch(self, store: stores.Store) -> None:
        """See what is done with a store from now on."""
        _after(store.leases, "acquire", self._took)
        _after(store, "keep_transition", self._kept)
        _after(store.requests, "ask", self._asked)
        _after(store.requests, "answer", self._answered)

    # Leases.

    def _took(self, lease: records.Lease | None, *_: Any, **__: Any) -> None:
        if lease is not None:
            self.terms.append(Term(lease.number, lease.owner, self.now()))

    # Runs.

    def _kept(self, _: Any, transition: run_records.Transition, **__: Any) -> None:
        head = transition.head
        known = self.runs.setdefault(head.id, KeptRun(head.application))
        self.approvals |= {one.comment for one in transition.approvals if one.approved}
        for answer in getattr(transition, "answers", ()):
            self._answered(None, answer.request, refusal=answer.refusal)
        if transition.version <= known.version:
            return  # a repetition
        if known.is_final:
            self.broken.append(f"run {head.id} is changed after its end")
        known.version, known.is_final = transition.version, head.status in state.FINAL_RUN
        if transition.document is not None:
            known.touched = frozenset(
                one["name"] for one in transition.document["clusters"] if one["touched"]
            )
        others = [one for one in self.unfinished(head.application) if one != head.id]
        if others and not known.is_final:
            self.broken.append(f"{head.application} has unfinished runs: {others}, {head.id}")

    def unfinished(self, application: str) -> list[str]:
        """Return the runs of an application that have not ended."""
        return [
            name
            for name, run in self.runs.items()
            if run.application == application and not run.is_final
        ]

    # People.

    def _asked(self, _: Any, request: records.RequestRecord) -> None:
        self.requests.setdefault(request.id, request)

    def _answered(self, _: Any, request_id: str, *, refusal: str, **__: Any) -> None:
        if request_id in self.answers:
            return
        self.answers[request_id] = refusal
        request = self.requests[request_id]
        if request.kind == "approve" and not refusal:
            yes = request.document["comment"]
            if yes not in self.approvals:
                self.broken.append(f"{yes} is answered before it is kept")

    # Clusters.

    def wrote(self, write: clusters.Write) -> None:
        """See a write that a cluster has carried out."""
        self.writes.append(write)
        newest = max(self.terms, key=lambda term: term.number)
        if write.place != newest.owner:
            if write.sent > newest.began:
                self.broken.append(f"{write} of {write.place} after {newest}")
            return
        if not write.application:
            return  # what is remembered of an application
        running = self.unfinished(write.application)
        if not any(write.cluster in self.runs[name].touched for name in running):
            self.broken.append(f"{write}: no run has touched {write.cluster}, of {running}")


def _after(group: object, name: str, told: Callable[..., None]) -> None:
    """Have something told what a method returned, and what it was called with."""
    method: Callable[..., Coroutine[Any, Any, Any]] = getattr(group, name)

    @functools.wraps(method)
    async def watched(*args: Any, **named: Any) -> Any:
        answer = await method(*args, **named)
        told(answer, *args, **named)
        return answer

    setattr(group, name, watched)
