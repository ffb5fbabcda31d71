"""Numbers as a line of bars. Pure."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
#: In the place of what has no number.
_HOLE = "·"
_WIDTH = 32


def draw(
    values: Sequence[float | None],
    width: int = _WIDTH,
    *,
    between: tuple[float, float] | None = None,
) -> str:
    """Return the newest values as bars, from the least to the greatest of them.

    `between` says what those are where the values can be no others, as those of a score.
    """
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    if not known:
        return _HOLE * len(shown)
    low, high = between or (min(known), max(known))
    return "".join(_HOLE if value is None else _bar(value, low, high) for value in shown)


def _bar(value: float, low: float, high: float) -> str:
    if high == low:
        return _BARS[0]
    part = min(1.0, max(0.0, (value - low) / (high - low)))
    return _BARS[round(part * (len(_BARS) - 1))]
