"""When a failed request is sent again, and after which delay: pure policy."""

from dataclasses import dataclass
from datetime import timedelta

from volary.clusters import errors as cluster_errors
from volary.model import errors


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient a client is."""

    #: Tries in all, the first included.
    tries: int = 5
    base: timedelta = timedelta(milliseconds=200)
    longest: timedelta = timedelta(seconds=10)
    #: A longer Retry-After is reported instead of waited for.
    longest_asked: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to try again, and after which delay."""

    again: bool
    delay: timedelta = timedelta(0)


STOP = Decision(again=False)


def decide(
    policy: Policy, error: errors.VolaryError, *, tried: int, idempotent: bool, chance: float
) -> Decision:
    """Say what follows a failed try.

    Only what is safe is sent again: a request that has the same effect twice, or one
    that certainly did not arrive. A 429 was not carried out, so it is always safe.

    Args:
        policy: How patient to be.
        error: What went wrong.
        tried: Tries so far, at least 1.
        idempotent: Sending it twice has the effect of sending it once.
        chance: A random number in [0, 1), for full jitter.
    """
    if tried >= policy.tries or not _is_safe(error, idempotent=idempotent):
        return STOP
    asked = error.delay if isinstance(error, errors.TemporaryError) else None
    if asked is not None:
        spread = timedelta(seconds=asked.total_seconds() * 0.1 * chance)
        return Decision(True, asked + spread) if asked <= policy.longest_asked else STOP
    ceiling = min(policy.base * 2 ** (tried - 1), policy.longest)
    return Decision(True, ceiling * chance)


def _is_safe(error: errors.VolaryError, *, idempotent: bool) -> bool:
    match error:
        case cluster_errors.TooManyRequests():
            return True
        case cluster_errors.Unreachable():
            return idempotent or not error.sent
        case cluster_errors.ServerError():
            return idempotent
        case _:
            return False
