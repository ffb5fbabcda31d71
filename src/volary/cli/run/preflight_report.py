"""What the clusters answered to the dry run, and why a run does not begin."""

import json as text
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from volary.cli import console, exit_codes
from volary.controller.planning import preflight
from volary.engine.runs import policies
from volary.model import errors, json
from volary.model.objects import apply_results

NOTHING_CHANGED = "nothing was changed in any cluster"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What keeps a run from beginning, and the exit code for it."""

    problems: tuple[errors.Problem, ...]
    code: exit_codes.Exit


def find_refusal(
    trials: Sequence[preflight.Trial],
    policy: policies.OnUnreachable,
    waved: Container[str] = frozenset(),
    *,
    dry_run: bool = False,
) -> Refusal | None:
    """Decide whether a run may begin; None when it may.

    Something to mend always keeps it from that. A cluster that cannot be reached does
    unless the policy goes on without it and another one is left; in a dry run, too, as
    nothing could be tried there. Those in `waved` are left to the rules of their waves.
    """
    problems = preflight.problems(trials)
    silent = preflight.silent(trials)
    unreachable = tuple(errors.Problem(reason, hint=_LEAVE_OUT_HINT) for reason in silent.values())
    if problems:
        return Refusal((*problems, *unreachable), exit_codes.Exit.USAGE)
    lenient = policy is policies.OnUnreachable.CONTINUE_WITHOUT or all(
        map(waved.__contains__, silent)
    )
    lenient = lenient and len(silent) < len(trials)
    if unreachable and (dry_run or not lenient):
        return Refusal(unreachable, exit_codes.Exit.FAILED)
    return None


_LEAVE_OUT_HINT = "try again when it answers, or go on without it by --on-unreachable continue"


def left_out_problems(silent: Mapping[str, str]) -> list[errors.Problem]:
    """Warn of the clusters that a run goes on without."""
    return [
        errors.Problem(f"{name} is left out: {reason}", severity=errors.Severity.WARNING)
        for name, reason in silent.items()
    ]


def refusal_to_json(problems: Sequence[errors.Problem]) -> json.JsonObject:
    """Return the last line of ``--output json`` when a run does not begin."""
    return {
        "event": "refused",
        "reason": NOTHING_CHANGED,
        "problems": [
            {"message": problem.message, "where": str(problem.where), "hint": problem.hint}
            for problem in problems
        ],
    }


_SHOWN_ACTIONS = (
    apply_results.Action.CREATED,
    apply_results.Action.CONFIGURED,
    apply_results.Action.DELETED,
    apply_results.Action.SKIPPED,
)


def show_trials(trials: Sequence[preflight.Trial], *, as_json: bool) -> None:
    """Write what each cluster that took it would do; a line of JSON for every cluster."""
    for trial in trials:
        if as_json:
            console.write(text.dumps(trial_to_json(trial)))
        elif not trial.problems and not trial.unreachable_reason:
            _show_trial(trial)


def trial_to_json(trial: preflight.Trial) -> json.JsonObject:
    """Return the line of one cluster."""
    body: json.JsonObject = {"event": "previewed", "target": trial.target}
    if trial.problems or trial.unreachable_reason:
        body["error"] = trial.unreachable_reason or "; ".join(
            problem.message for problem in trial.problems
        )
    else:
        body["changes"] = [
            {
                "object": str(change.key),
                "action": change.action.value,
                **({"reason": change.reason} if change.reason else {}),
            }
            for change in trial.changes.changes
        ]
        if trial.prune_refusal:
            body["pruneRefusal"] = trial.prune_refusal
        if trial.warnings:
            body["warnings"] = list(trial.warnings)
    return body


def _show_trial(trial: preflight.Trial) -> None:
    data = console.results()
    data.print(f"{trial.target}: {trial.changes.summary}", markup=False)
    for change in trial.changes.changes:
        if change.action in _SHOWN_ACTIONS:
            reason = f" ({change.reason})" if change.reason else ""
            data.print(f"  {change.action.value} {change.key.title}{reason}", markup=False)
        if change.taken_from:
            taken = f"  takes {change.key.title} over from {change.taken_from}"
            data.print(taken, markup=False)
    if trial.prune_refusal:
        data.print(f"  refused: {trial.prune_refusal}", markup=False)
    for warning in trial.warnings:
        data.print(f"  warning: {warning}", markup=False)
