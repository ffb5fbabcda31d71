"""Where an application is, and what is moving, as it is kept in the application's status."""

from datetime import datetime, timedelta

from volary.model import json
from volary.model.placement import failover_rules
from volary.placement.failover import decisions, observed_durations


def to_document(placed: decisions.PlacementState) -> json.JsonObject:
    """Return it as JSON."""
    return {
        "chosen": list(placed.chosen),
        "away": dict(placed.away),
        "leaving": [_leaving(eviction) for eviction in placed.leaving],
        "timers": {key: _clock(timer) for key, timer in placed.timers.items()},
        "waiting": dict(placed.waiting),
    }


def from_document(document: json.JsonObject | None) -> decisions.PlacementState:
    """Read it; what an earlier version did not write is empty."""
    read = document or {}
    return decisions.PlacementState(
        tuple(read.get("chosen", ())),
        dict(read.get("away", {})),
        tuple(map(_read_leaving, read.get("leaving", ()))),
        {key: _read_clock(timer) for key, timer in read.get("timers", {}).items()},
        dict(read.get("waiting", {})),
    )


def _leaving(eviction: decisions.Eviction) -> json.JsonObject:
    return {
        "cluster": eviction.cluster,
        "cause": eviction.cause.value,
        "reason": eviction.reason,
        "since": eviction.since.isoformat(),
        "purge": eviction.purge.value,
        "grace": None if eviction.grace is None else eviction.grace.total_seconds(),
        "replacements": list(eviction.replacements),
        "replaced": eviction.replaced,
        "removed": eviction.removed,
        "before": list(eviction.before),
        "lost": eviction.lost,
        "waited": None if eviction.waited is None else _clock(eviction.waited),
        "tried": None if eviction.tried is None else eviction.tried.isoformat(),
        "attempts": eviction.attempts,
    }


def _read_leaving(document: json.JsonObject) -> decisions.Eviction:
    grace, waited, tried = (document.get(key) for key in ("grace", "waited", "tried"))
    return decisions.Eviction(
        cluster=document["cluster"],
        cause=decisions.Cause(document["cause"]),
        reason=document.get("reason", ""),
        since=datetime.fromisoformat(document["since"]),
        purge=failover_rules.Purge(document.get("purge", failover_rules.Purge.GRACEFULLY)),
        grace=None if grace is None else timedelta(seconds=grace),
        replacements=tuple(document.get("replacements", ())),
        replaced=bool(document.get("replaced")),
        removed=bool(document.get("removed")),
        before=tuple(document.get("before", ())),
        lost=bool(document.get("lost")),
        waited=None if waited is None else _read_clock(waited),
        tried=None if tried is None else datetime.fromisoformat(tried),
        attempts=int(document.get("attempts", 0)),
    )


def _clock(clock: observed_durations.ObservedDuration) -> json.JsonObject:
    return {
        "since": clock.since.isoformat(),
        "last": clock.last.isoformat(),
        "lasted": clock.lasted.total_seconds(),
    }


def _read_clock(document: json.JsonObject) -> observed_durations.ObservedDuration:
    return observed_durations.ObservedDuration(
        datetime.fromisoformat(document["since"]),
        datetime.fromisoformat(document["last"]),
        timedelta(seconds=document.get("lasted", 0)),
    )
