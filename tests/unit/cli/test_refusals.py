"""Whether a run may begin."""

import pytest

from volary.cli import exits, refusals
from volary.controller import preflight
from volary.engine import rules
from volary.model import problem

FAIL, WITHOUT = rules.OnUnreachable.FAIL, rules.OnUnreachable.CONTINUE_WITHOUT
FINE = preflight.Trial("us")
SILENT = preflight.Trial("eu", silence="eu does not answer")
WRONG = preflight.Trial("asia", problems=(problem.Problem("who owns what"),))


@pytest.mark.parametrize(
    ("trials", "policy", "dry_run", "code"),
    [
        ((FINE,), FAIL, False, None),
        ((FINE, SILENT), FAIL, False, exits.Exit.FAILED),
        ((FINE, SILENT), WITHOUT, False, None),
        ((FINE, SILENT), WITHOUT, True, exits.Exit.FAILED),
        ((SILENT,), WITHOUT, False, exits.Exit.FAILED),
        ((FINE, WRONG), WITHOUT, False, exits.Exit.USAGE),
        ((SILENT, WRONG), FAIL, False, exits.Exit.USAGE),
    ],
)
def test_something_to_mend_always_stops_it_silence_by_policy(
    trials: tuple[preflight.Trial, ...],
    policy: rules.OnUnreachable,
    dry_run: bool,
    code: exits.Exit | None,
) -> None:
    refusal = refusals.judge(trials, policy, dry_run=dry_run)

    assert (refusal.code if refusal else None) == code


def test_all_reasons_are_told() -> None:
    refusal = refusals.judge((FINE, SILENT, WRONG), FAIL)

    assert refusal is not None
    told = [each.message for each in refusal.problems]
    assert told == ["who owns what", "eu does not answer"]
