"""Durations on the command line: ``90s``, ``10m``, ``1h30m``."""

import re
from datetime import timedelta

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
