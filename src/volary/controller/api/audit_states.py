"""How things are, in short: what the audit compares before and after a command. Pure."""

from volary.controller.api import conversions
from volary.model import json
from volary.store import records


def of_application(known: records.ApplicationRecord | None) -> json.JsonObject:
    """Return how an application is; nothing when there is none."""
    if known is None:
        return {}
    shown = conversions.of_application(known)
    waiting = shown.waiting
    return {
        "status": shown.status,
        "reason": shown.reason,
        "repository": known.repository,
        "run": shown.run,
        "paused": shown.paused,
        "waiting": f"{waiting.run} ({waiting.kind} to {waiting.commit})" if waiting else "",
    }


def of_run(summary: records.RunSummary) -> json.JsonObject:
    """Return how a run is."""
    return {"status": summary.head.status.value, "reason": summary.head.reason}
