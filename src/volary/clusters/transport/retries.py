"""When a failed request is sent again, and after which delay: pure policy."""

from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.model import backoffs, errors


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient a client is."""

    #: Tries in all, the first included.
    tries: int = 6
    base: timedelta = timedelta(milliseconds=300)
    longest: timedelta = timedelta(seconds=10)
    #: A longer Retry-After is reported instead of waited for.
    longest_asked: timedelta = timedelta(seconds=60)
    #: No new try after this much time since the first began.
    patience: timedelta = timedelta(seconds=120)


def next_delay(
    policy: Policy,
    error: errors.VolaryError,
    *,
    tried: int,
    idempotent: bool,
    elapsed: timedelta,
    chance: float,
) -> timedelta | None:
    """Return after which delay a failed request is sent again; None: it is not.

    Only what is safe is sent again: a request that has the same effect twice, or one
    that certainly did not arrive. A 429 was not carried out, so it is always safe.

    `tried` counts the tries so far, `elapsed` is the time since the first began, and `chance` a
    random number in [0, 1), for full jitter.
    """
    if tried >= policy.tries or not _is_safe(error, idempotent=idempotent):
        return None
    asked = error.delay if isinstance(error, errors.TemporaryError) else None
    if asked is not None and asked > policy.longest_asked:
        return None
    delay = backoff(policy, failures=tried, chance=chance)
    if asked is not None:
        delay = asked + asked * 0.1 * chance
    return delay if elapsed + delay <= policy.patience else None


def backoff(policy: Policy, *, failures: int, chance: float) -> timedelta:
    """Return the delay after so many failures in a row: full jitter under a doubling ceiling."""
    return backoffs.Backoff(policy.base, policy.longest).after(failures) * chance


def _is_safe(error: errors.VolaryError, *, idempotent: bool) -> bool:
    match error:
        case api_errors.CircuitOpen():
            return False  # the point of a breaker is to fail at once
        case api_errors.TooManyRequests():
            return True
        case api_errors.Unreachable():
            return idempotent or not error.sent
        case api_errors.ServerError():
            return idempotent
        case _:
            return False
