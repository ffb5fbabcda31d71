"""Only what is safe is sent again, and never for ever."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.clusters.api import api_errors
from volary.clusters.transport import retries
from volary.model import errors

POLICY = retries.Policy()
UNSENT = api_errors.Unreachable("refused", sent=False)
SENT = api_errors.Unreachable("broke", sent=True)
BUSY = api_errors.TooManyRequests("busy")
BROKEN = api_errors.ServerError("oops", status=500)


def delay_of(
    error: errors.VolaryError,
    *,
    tried: int = 1,
    idempotent: bool = False,
    chance: float = 0.5,
    elapsed: timedelta = timedelta(0),
) -> timedelta | None:
    return retries.next_delay(
        POLICY, error, tried=tried, idempotent=idempotent, elapsed=elapsed, chance=chance
    )


@pytest.mark.parametrize(
    ("error", "idempotent", "again"),
    [
        (UNSENT, False, True),
        (UNSENT, True, True),
        (SENT, False, False),
        (SENT, True, True),
        (BUSY, False, True),
        (BROKEN, False, False),
        (BROKEN, True, True),
        (api_errors.CircuitOpen("open", sent=False), True, False),
        (api_errors.NotFound("none"), True, False),
        (api_errors.ApplyConflict("other"), True, False),
        (errors.user_error("mend it"), True, False),
    ],
)
def test_what_is_sent_again(error: errors.VolaryError, idempotent: bool, again: bool) -> None:
    assert (delay_of(error, idempotent=idempotent) is not None) is again


def test_tries_are_bounded() -> None:
    assert delay_of(UNSENT, tried=POLICY.tries - 1) is not None
    assert delay_of(UNSENT, tried=POLICY.tries) is None


def test_patience_is_bounded() -> None:
    delay = delay_of(UNSENT, tried=2)
    assert delay is not None

    assert delay_of(UNSENT, tried=2, elapsed=POLICY.patience - delay) == delay
    assert delay_of(UNSENT, tried=2, elapsed=POLICY.patience) is None


def test_retry_after_is_honoured_and_spread() -> None:
    asked = api_errors.TooManyRequests("busy", delay=timedelta(seconds=10))

    assert delay_of(asked, chance=0.0) == timedelta(seconds=10)
    assert delay_of(asked, chance=0.5) == timedelta(seconds=10.5)


def test_a_long_retry_after_is_reported_instead() -> None:
    asked = api_errors.TooManyRequests("busy", delay=POLICY.longest_asked)
    longer = api_errors.TooManyRequests("busy", delay=POLICY.longest_asked + timedelta(seconds=1))

    assert delay_of(asked, chance=0.0) == POLICY.longest_asked
    assert delay_of(longer, chance=0.0) is None


@given(tried=st.integers(1, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_backoff_stays_under_its_ceiling(tried: int, chance: float) -> None:
    delay = retries.backoff(POLICY, failures=tried, chance=chance)

    assert timedelta(0) <= delay <= POLICY.longest


def test_the_ceiling_doubles() -> None:
    delays = [retries.backoff(POLICY, failures=each, chance=1.0) for each in (1, 2, 3)]

    assert delays == [POLICY.base, POLICY.base * 2, POLICY.base * 4]
