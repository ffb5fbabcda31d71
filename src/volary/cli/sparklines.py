"""Numbers as a line of bars. Pure."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
#: In the place of what has no number.
_HOLE = "·"
_WIDTH = 32


def draw(values: Sequence[float | None], width: int = _WIDTH) -> str:
    """Return the newest values as bars, from the least to the greatest of them."""
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    if not known:
        return _HOLE * len(shown)
    low, high = min(known), max(known)
    return "".join(_HOLE if value is None else _bar(value, low, high) for value in shown)


def _bar(value: float, low: float, high: float) -> str:
    if high == low:
        return _BARS[0]
    return _BARS[round((value - low) / (high - low) * (len(_BARS) - 1))]
