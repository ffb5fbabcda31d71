"""Durations on the command line: ``90s``, ``10m``, ``1h30m``."""

from datetime import datetime, timedelta

from volary.config.decoding import values
from volary.model import errors


def parse(text: str, *, option: str) -> timedelta:
    """Read a positive duration; `option` names it in the error.

    Raises:
        errors.UserError: It is not one.
    """
    try:
        total = values.duration(text)
    except ValueError:
        raise errors.user_error(
            f"{option} {text!r} is not a duration", hint="write it as 90s, 10m or 1h30m"
        ) from None
    if total <= timedelta(0):
        raise errors.user_error(f"{option} must be longer than nothing")
    return total


#: Up to so many seconds: the large and the small unit of a span.
_STEPS = ((120, "s", ""), (600, "m", "s"), (10_800, "m", ""), (172_800, "h", ""))
_LENGTHS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def age(stamp: str, now: datetime) -> str:
    """Return how long ago a date was, as kubectl writes ages: ``45s``, ``3m12s``, ``9d``."""
    whole = max(0, int((now - datetime.fromisoformat(stamp)).total_seconds()))
    large, small = next(((big, rest) for limit, big, rest in _STEPS if whole < limit), ("d", ""))
    text = f"{whole // _LENGTHS[large]}{large}"
    rest = whole % _LENGTHS[large]
    return f"{text}{rest}{small}" if small and rest else text
