"""Durations on the command line: ``90s``, ``10m``, ``1h30m``."""

import re
from datetime import datetime, timedelta

from volary.model import errors

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse(text: str, *, option: str) -> timedelta:
    """Read a positive duration; `option` names it in the error.

    Raises:
        errors.UserError: It is not one.
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise errors.user_error(
            f"{option} {text!r} is not a duration", hint="write it as 90s, 10m or 1h30m"
        )
    total = timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
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
