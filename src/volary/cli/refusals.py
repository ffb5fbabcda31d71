"""Why a run does not begin: what to mend first, or which cluster cannot be reached."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from volary.cli import exits
from volary.controller import preflight
from volary.engine import rules
from volary.model import json, problem

NOTHING = "nothing was changed in any cluster"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What keeps a run from beginning, and the exit code for it."""

    problems: tuple[problem.Problem, ...]
    code: exits.Exit


def judge(
    trials: Sequence[preflight.Trial],
    policy: rules.OnUnreachable,
    waved: Container[str] = frozenset(),
    *,
    dry_run: bool = False,
) -> Refusal | None:
    """Decide whether a run may begin; None when it may.

    Something to mend always keeps it from that. A cluster that cannot be reached does
    unless the policy goes on without it and another one is left; in a dry run, too, as
    nothing could be tried there. Those in `waved` are left to the rules of their waves.
    """
    found = preflight.problems(trials)
    silent = preflight.silent(trials)
    unreachable = tuple(problem.Problem(reason, hint=_HINT) for reason in silent.values())
    if found:
        return Refusal((*found, *unreachable), exits.Exit.USAGE)
    lenient = policy is rules.OnUnreachable.CONTINUE_WITHOUT or all(map(waved.__contains__, silent))
    lenient = lenient and len(silent) < len(trials)
    if unreachable and (dry_run or not lenient):
        return Refusal(unreachable, exits.Exit.FAILED)
    return None


_HINT = "try again when it answers, or go on without it by --on-unreachable continue"


def left_out(silent: Mapping[str, str]) -> list[problem.Problem]:
    """Warn of the clusters that a run goes on without."""
    return [
        problem.Problem(f"{name} is left out: {reason}", severity=problem.Severity.WARNING)
        for name, reason in silent.items()
    ]


def to_json(problems: Sequence[problem.Problem]) -> json.JsonObject:
    """Return the last line of ``--output json`` when a run does not begin."""
    return {
        "event": "refused",
        "reason": NOTHING,
        "problems": [
            {"message": each.message, "where": str(each.where), "hint": each.hint}
            for each in problems
        ],
    }
