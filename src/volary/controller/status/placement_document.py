"""Where an application is, and what is moving, as it is kept in the application's status."""

from datetime import datetime, timedelta

from volary.model import json
from volary.model.placement import failover_rules
from volary.placement.failover import decisions, observed_durations


def to_document(placed: decisions.PlacementState) -> json.JsonObject:
    """Return it as JSON."""
    return {
        "chosen": list(placed.chosen),
        "coming": list(placed.coming),
        "away": dict(placed.away),
        "leaving": [_leaving(each) for each in placed.leaving],
        "timers": {key: _clock(each) for key, each in placed.timers.items()},
        "waiting": dict(placed.waiting),
    }


def from_document(document: json.JsonObject | None) -> decisions.PlacementState:
    """Read it; what an earlier version did not write is empty."""
    read = document or {}
    return decisions.PlacementState(
        tuple(read.get("chosen", ())),
        tuple(read.get("coming", ())),
        dict(read.get("away", {})),
        tuple(map(_read_leaving, read.get("leaving", ()))),
        {key: _read_clock(each) for key, each in read.get("timers", {}).items()},
        dict(read.get("waiting", {})),
    )


def _leaving(each: decisions.Eviction) -> json.JsonObject:
    return {
        "cluster": each.cluster,
        "cause": each.cause.value,
        "reason": each.reason,
        "since": each.since.isoformat(),
        "purge": each.purge.value,
        "grace": None if each.grace is None else each.grace.total_seconds(),
        "replacements": list(each.replacements),
        "replaced": each.replaced,
        "removed": each.removed,
        "before": list(each.before),
        "lost": each.lost,
        "waited": None if each.waited is None else _clock(each.waited),
        "tried": None if each.tried is None else each.tried.isoformat(),
        "attempts": each.attempts,
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
