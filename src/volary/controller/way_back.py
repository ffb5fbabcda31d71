"""Back to what ran before: which run is taken back, as what, and what holds afterwards."""

from collections.abc import Sequence
from dataclasses import replace

from volary.controller import (
    driving,
    homes,
    origins,
    reaching,
    refusals,
    releases,
    standings,
    wants,
)
from volary.engine import codec, state, undoing
from volary.model import plan
from volary.model import status as words
from volary.store import protocol, records

#: Runs that are looked at to find the one to take back.
_MOST = 50


async def wanted(store: protocol.Store, name: str, request: records.RequestRecord) -> wants.Want:
    """Return the want that takes the application's last change back.

    Raises:
        refusals.Conflict: There is nothing to go back to.
    """
    wanted_ones = records.RunFilter(applications=frozenset({name}))
    page = await store.runs.list(wanted_ones, limit=_MOST)
    ended = [each.head.id for each in page.items if each.head.finished and _is_release(each)]
    loaded = [await store.runs.load(each) for each in ended]
    chosen = choose([codec.read_run(each) for each in loaded if each is not None])
    if chosen is None:
        raise refusals.conflict("there is no run whose change is still there; name a commit")
    first = [name for name in undoing.left(chosen) if not chosen.goes_back_to(name)]
    if first:
        raise refusals.conflict(
            f"nothing ran on {', '.join(first[:5])} before run {chosen.id}; name a commit"
        )
    return wants.Want(
        id=request.id,
        commit=chosen.commit,
        kind=wants.Kind.ROLLBACK,
        reason=f"{request.by} {_what(chosen)}",
        at=request.at,
        by=request.by,
        strategy=plan.Strategy.QUICK_SYNC,
        takes_back=chosen.id,
    )


def _what(chosen: state.Run) -> str:
    commits = {chosen.goes_back_to(name) for name in undoing.left(chosen)}
    if len(commits) == 1:
        return f"rolls back to {commits.pop()[:7]}"
    return f"rolls run {chosen.id} back, each cluster to what it ran before"


def _is_release(known: records.RunSummary) -> bool:
    """Say whether a run was about a release, not about where it runs or who had missed it."""
    kind = origins.from_document(known.origin).kind
    return kind not in (wants.Kind.PLACEMENT.value, wants.Kind.CATCH_UP.value)


def choose(runs: Sequence[state.Run]) -> state.Run | None:
    """Return the newest run whose change is still there; `runs` are the newest first."""
    undone: set[str] = set()
    for run in runs:
        if run.undoes:
            # Of a way back that failed, what is left is left of this one.
            undone.add(run.undoes)
        if run.id in undone:
            undone.add(run.undoes)
        elif undoing.has_changed(run):
            return run
    return None


async def release(
    tenure: driving.Driving,
    known: records.ApplicationRecord,
    want: wants.Want,
    standing: standings.Standing,
) -> releases.Release:
    """Return the new run that takes a stored one back.

    Raises:
        refusals.Conflict: It is not kept any more.
        errors.UserError: What it was pinned to cannot be opened any more.
        errors.TemporaryError: It may work later.
    """
    stored = await tenure.store.runs.load(want.takes_back)
    if stored is None:
        raise refusals.conflict(f"run {want.takes_back} is not kept any more")
    why = f"rolled back by {want.by}"
    old = codec.read_run(stored)
    # Those that the run had gone on without may have got its release when they came back.
    caught_up = standing.reached.clusters if standing.reached.commit == old.commit else ()
    now = tenure.desk.clock.now()
    run = undoing.of(old, want.id, why, now, holders=tuple(caught_up))
    origin = homes.at_home(origins.from_document(stored.origin), known, tenure.desk.addresses)
    origin = replace(
        origin,
        kind=want.kind.value,
        reason=want.reason,
        by=want.by,
        summary=want.reason,
        targets=undoing.left(run),
    )
    return await releases.take_up(tenure.desk, known.name, run, origin)


def concluded(
    standing: standings.Standing, run: state.Run, identity: reaching.Identity, remembered: str
) -> tuple[standings.Standing, str]:
    """Return how the application stands once a run was taken back, and what runs by then.

    A release counts as completed only if every cluster is proven back at the same one; else none
    does, so that none is brought to clusters that miss it.
    """
    back = run.status is words.RunStatus.SUCCEEDED
    commit = run.running_commit if back else remembered
    held = undoing.holds(run)
    others = standing.reached.clusters if standing.reached.commit == run.commit else ()
    kept = {**standing.kept, **dict.fromkeys(others, run.commit), **held}
    kept |= dict.fromkeys(undoing.left(run), run.commit)
    there = {name: identity(name) for name in held}
    completed = back and set(kept.values()) <= {commit} and bool(commit)
    reached = reaching.Reached(commit, there) if completed else reaching.Reached()
    assigned = standing.assigned.taken_over(standing.pinned, undoing.proven(run))
    standing = replace(
        standing,
        kept={name: each for name, each in kept.items() if each != commit},
        reached=reached,
        assigned=standing.pinned if back else assigned,
        catch_up=None,
        under_way=False,
    )
    return standing, commit
