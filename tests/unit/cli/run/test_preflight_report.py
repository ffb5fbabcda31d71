"""Whether a run may begin."""

import pytest

from volary.cli import exit_codes
from volary.cli.run import preflight_report
from volary.controller.planning import preflight
from volary.engine.runs import policies
from volary.model import errors

FAIL, WITHOUT = policies.OnUnreachable.FAIL, policies.OnUnreachable.CONTINUE_WITHOUT
FINE = preflight.Trial("us")
SILENT = preflight.Trial("eu", unreachable_reason="eu does not answer")
WRONG = preflight.Trial("asia", problems=(errors.Problem("who owns what"),))


@pytest.mark.parametrize(
    ("trials", "policy", "dry_run", "code"),
    [
        ((FINE,), FAIL, False, None),
        ((FINE, SILENT), FAIL, False, exit_codes.Exit.FAILED),
        ((FINE, SILENT), WITHOUT, False, None),
        ((FINE, SILENT), WITHOUT, True, exit_codes.Exit.FAILED),
        ((SILENT,), WITHOUT, False, exit_codes.Exit.FAILED),
        ((FINE, WRONG), WITHOUT, False, exit_codes.Exit.USAGE),
        ((SILENT, WRONG), FAIL, False, exit_codes.Exit.USAGE),
    ],
)
def test_something_to_mend_always_stops_it_silence_by_policy(
    trials: tuple[preflight.Trial, ...],
    policy: policies.OnUnreachable,
    dry_run: bool,
    code: exit_codes.Exit | None,
) -> None:
    refusal = preflight_report.find_refusal(trials, policy, dry_run=dry_run)

    assert (refusal.code if refusal else None) == code


def test_all_reasons_are_told() -> None:
    refusal = preflight_report.find_refusal((FINE, SILENT, WRONG), FAIL)

    assert refusal is not None
    told = [each.message for each in refusal.problems]
    assert told == ["who owns what", "eu does not answer"]
