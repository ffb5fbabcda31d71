"""What a simulated world has seen, and what has to hold at every step of it."""

import functools
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from simulation import chats, clusters
from volary.engine.runs import state
from volary.model.runs import run_records
from volary.store import records, stores

#: What people are notified of, as a run's feed calls it.
_TELLING = frozenset({"run-finished", "stage-waiting"})
#: Seconds; a step of the loop takes some of them.
_ROUNDED = 0.001


@dataclass
class KeptRun:
    """A run as the store has it."""

    application: str
    version: int = 0
    is_final: bool = False
    touched: frozenset[str] = frozenset()
    #: What a process needs that takes it up.
    commits: frozenset[str] = frozenset()
    #: Clusters that were written to for it.
    written: set[str] = field(default_factory=set)
    #: How much its feed says, and what people are notified of by it: ids of messages.
    events: int = 0
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Term:
    """Since when which process has held the lease, and until when nobody else may take it."""

    number: int
    owner: str
    began: float
    until: float


@dataclass
class Witness:
    """Sees every write to the store and to clusters once it is done; raises nothing itself."""

    now: Callable[[], float]
    #: Told whose step was kept.
    after_step: Callable[[str], None] = lambda _: None
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

    def watch(self, store: stores.Store, place: str) -> None:
        """See what a place does with a store from now on."""
        self._watch_lease(store.leases)
        keep = store.keep_transition

        @functools.wraps(keep)
        async def watched(transition: run_records.Transition, **named: Any) -> Any:
            answer = await keep(transition, **named)
            self._kept(answer, transition)
            self.after_step(place)
            return answer

        _replace(store, "keep_transition", watched)
        _after(store.requests, "ask", self._asked)
        _after(store.requests, "answer", self._answered)
        for group, names in (
            (store, ("keep_transition",)),
            (store.applications, ("keep", "forget")),
            (store.requests, ("answer",)),
            (store.memories, ("save", "keep")),
            (store.notifications, ("change",)),
        ):
            for name in names:
                self._hold_to_the_fence(group, name)

    # Leases.

    def _watch_lease(self, leases: Any) -> None:
        renew, acquire = leases.renew, leases.acquire

        @functools.wraps(renew)
        async def renewed(lease: records.Lease, ttl: timedelta) -> Any:
            began = self.now()
            answer = await renew(lease, ttl)
            for term in self.terms:
                if term.number == lease.number:
                    term.until = began + ttl.total_seconds()
            return answer

        @functools.wraps(acquire)
        async def acquired(name: str, owner: str, ttl: timedelta, **named: Any) -> Any:
            began = self.now()
            lease = await acquire(name, owner, ttl, **named)
            if lease is not None:
                self._took(lease, began + ttl.total_seconds())
            return lease

        _replace(leases, "renew", renewed)
        _replace(leases, "acquire", acquired)
        _after(leases, "release", self._released)

    def _took(self, lease: records.Lease, until: float) -> None:
        now, newest = self.now(), self.newest
        is_other = newest is not None and newest.owner != lease.owner
        if newest is not None and is_other and now < newest.until - _ROUNDED:
            self.broken.append(
                f"{lease.owner} takes the lease over from {newest.owner},"
                f" whose time lasts {newest.until - now:.1f} s more"
            )
        self.terms.append(Term(lease.number, lease.owner, now, until))

    def _released(self, _: None, lease: records.Lease) -> None:
        for term in self.terms:
            if term.number == lease.number:
                term.until = self.now()

    @property
    def newest(self) -> Term | None:
        """Who took the lease last."""
        return max(self.terms, key=lambda term: term.number, default=None)

    def _hold_to_the_fence(self, group: Any, name: str) -> None:
        method: Callable[..., Coroutine[Any, Any, Any]] = getattr(group, name)

        @functools.wraps(method)
        async def watched(*args: Any, fence: run_records.Fence | None = None, **named: Any) -> Any:
            newest = self.newest
            answer = await method(*args, fence=fence, **named)
            if fence is not None and newest is not None and fence.number < newest.number:
                what = f"{type(group).__name__}.{name}"
                self.broken.append(f"{what} is stored for term {fence.number} after {newest}")
            return answer

        _replace(group, name, watched)

    # Runs.

    def _kept(self, answer: run_records.KeptTransition, transition: run_records.Transition) -> None:
        head = transition.head
        known = self.runs.setdefault(head.id, KeptRun(head.application))
        self.approvals |= {one.comment for one in transition.approvals if one.approved}
        for one in getattr(transition, "answers", ()):
            self._answered(None, one.request, refusal=one.refusal)
        if transition.version > known.version:
            self._follow(known, transition)
        if answer.last_event != known.events and transition.version == known.version:
            self.broken.append(
                f"the feed of {head.id} ends with {answer.last_event}, not {known.events}:"
                " a step was kept twice"
            )

    def _follow(self, known: KeptRun, transition: run_records.Transition) -> None:
        head = transition.head
        if known.is_final:
            self.broken.append(f"run {head.id} is changed after its end")
        known.version, known.is_final = transition.version, head.status in state.FINAL_RUN
        known.events += len(transition.feed)
        # The first step is announced before it is kept, and under a name of its own.
        if transition.expected_version:
            known.messages |= {
                f"{head.id}-{transition.version}-{place}-{chats.PLACE}"
                for place, event in enumerate(transition.feed)
                if event.event in _TELLING
            }
        if transition.document is not None:
            self._see_clusters(head, known, transition.document["clusters"])
        others = [one for one in self.unfinished(head.application) if one != head.id]
        if others and not known.is_final:
            self.broken.append(f"{head.application} has unfinished runs: {others}, {head.id}")

    def _see_clusters(
        self, head: run_records.RunHead, known: KeptRun, members: list[dict[str, Any]]
    ) -> None:
        known.touched = frozenset(one["name"] for one in members if one["touched"])
        before = (one.get("running_commit", "") for one in members)
        known.commits = frozenset((head.commit, head.running_commit, *before)) - {""}
        kept_back = {one["name"] for one in members if one["touched"] or one["rolled_back"]}
        if forgotten := known.written - kept_back:
            self.broken.append(
                f"run {head.id} has written to {sorted(forgotten)}, which counts as untouched"
            )

    def unfinished(self, application: str = "") -> list[str]:
        """Return the runs of an application, or of all, that have not ended."""
        return [
            name
            for name, run in self.runs.items()
            if (not application or run.application == application) and not run.is_final
        ]

    def lost(self, commits: Collection[str]) -> None:
        """See that commits are not there any more."""
        for name in self.unfinished():
            if missing := self.runs[name].commits & frozenset(commits):
                short = sorted(commit[:7] for commit in missing)
                self.broken.append(f"run {name} needs {short}, which nobody has kept")

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
        newest = self.newest
        assert newest is not None
        if write.place != newest.owner and write.sent > newest.began:
            self.broken.append(f"{write} of {write.place} after {newest}")
        if not write.application:
            return  # what is remembered of an application
        running = self.unfinished(write.application)
        for name in running:
            self.runs[name].written.add(write.cluster)
        if write.place != newest.owner:
            return  # it was on its way before another one took over
        if not any(write.cluster in self.runs[name].touched for name in running):
            self.broken.append(f"{write}: no run has touched {write.cluster}, of {running}")


def _replace(group: object, name: str, method: Callable[..., Any]) -> None:
    setattr(group, name, method)


def _after(group: object, name: str, told: Callable[..., None]) -> None:
    """Have something told what a method returned, and what it was called with."""
    method: Callable[..., Coroutine[Any, Any, Any]] = getattr(group, name)

    @functools.wraps(method)
    async def watched(*args: Any, **named: Any) -> Any:
        answer = await method(*args, **named)
        told(answer, *args, **named)
        return answer

    _replace(group, name, watched)
