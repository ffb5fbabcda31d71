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


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to try again, and after which delay."""

    again: bool
    delay: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Situation:
    """What has happened to a request so far."""

    #: Tries so far, at least 1.
    tried: int
    #: Sending it twice has the effect of sending it once.
    idempotent: bool
    #: Time since the first try began.
    elapsed: timedelta = timedelta(0)


STOP = Decision(again=False)


def decide(
    policy: Policy, error: errors.VolaryError, situation: Situation, *, chance: float
) -> Decision:
    """Say what follows a failed try.

    Only what is safe is sent again: a request that has the same effect twice, or one
    that certainly did not arrive. A 429 was not carried out, so it is always safe.

    Args:
        policy: How patient to be.
        error: What went wrong.
        situation: What has happened so far.
        chance: A random number in [0, 1), for full jitter.
    """
    if situation.tried >= policy.tries or not _is_safe(error, idempotent=situation.idempotent):
        return STOP
    asked = error.delay if isinstance(error, errors.TemporaryError) else None
    if asked is not None and asked > policy.longest_asked:
        return STOP
    delay = backoff(policy, failures=situation.tried, chance=chance)
    if asked is not None:
        delay = asked + asked * 0.1 * chance
    return Decision(True, delay) if situation.elapsed + delay <= policy.patience else STOP


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
