"""Spans of time as kubectl shows them: ``45s``, ``3m12s``, ``5h``, ``2d4h``."""

from datetime import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def short(seconds: float) -> str:
    """Write a span with at most two units (Kubernetes: HumanDuration)."""
    if seconds < -1:
        return "<invalid>"
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for limit, large, small, names in _STEPS:
        if whole < limit:
            return _pair(whole, large, small, names)
    return f"{whole // _YEAR}y"


def age(stamp: str | None, now: datetime) -> str:
    """Write how long ago the date `stamp` was; ``<unknown>`` without one."""
    if not stamp:
        return "<unknown>"
    return short((now - datetime.fromisoformat(stamp)).total_seconds())


#: Up to a span: its large and its small unit (0 for none) and their letters.
_STEPS = (
    (10 * _MINUTE, _MINUTE, 1, "ms"),
    (3 * _HOUR, _MINUTE, 0, "m"),
    (8 * _HOUR, _HOUR, _MINUTE, "hm"),
    (2 * _DAY, _HOUR, 0, "h"),
    (8 * _DAY, _DAY, _HOUR, "dh"),
    (2 * _YEAR, _DAY, 0, "d"),
    (8 * _YEAR, _YEAR, _DAY, "yd"),
)


def _pair(whole: int, large: int, small: int, names: str) -> str:
    rest = whole % large // small if small else 0
    text = f"{whole // large}{names[0]}"
    return f"{text}{rest}{names[1]}" if rest else text
