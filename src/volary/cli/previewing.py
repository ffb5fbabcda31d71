"""``volary run --dry-run``: what each cluster would do with the new version, written nowhere."""

import json as text
from collections.abc import Sequence

from volary.cli import console
from volary.controller import preflight
from volary.model import change, json

_SHOWN = (change.Action.CREATED, change.Action.CONFIGURED)


def show(trials: Sequence[preflight.Trial], *, as_json: bool) -> None:
    """Write what each cluster that took it would do; a line of JSON for every cluster."""
    for trial in trials:
        if as_json:
            console.write(text.dumps(to_json(trial)))
        elif not trial.problems and not trial.silence:
            _show(trial)


def to_json(trial: preflight.Trial) -> json.JsonObject:
    """Return the line of one cluster."""
    body: json.JsonObject = {"event": "previewed", "target": trial.target}
    if trial.problems or trial.silence:
        body["error"] = trial.silence or "; ".join(each.message for each in trial.problems)
    else:
        body["changes"] = [
            {"object": str(each.key), "action": each.action.value} for each in trial.changes.changes
        ]
    return body


def _show(trial: preflight.Trial) -> None:
    data = console.data()
    data.print(f"{trial.target}: {trial.changes.summary}", markup=False)
    for each in trial.changes.changes:
        if each.action in _SHOWN:
            reason = f" ({each.reason})" if each.reason else ""
            data.print(f"  {each.action.value} {each.key.title}{reason}", markup=False)
