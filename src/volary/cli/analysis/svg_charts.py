"""One cluster's measurements as an SVG drawing: a line for each side, and what is allowed. Pure.

Nothing of what is drawn is markup of others: texts are escaped, and classes and positions are
made here.
"""

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from volary.model import safe_text

_WIDTH, _HEIGHT = 420, 150
#: Of the drawing inside its labels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 8, 8, 22
#: So many sides have a class of their own; further ones look like the last.
SIDES = 6
_SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Line:
    """What one side measured."""

    name: str
    #: When, and the value; None: there was none.
    points: Sequence[tuple[datetime, float | None]]


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of what is allowed."""

    name: str
    value: float
    #: Beyond it nothing is decided yet; another bound decides.
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where moments and values are on the drawing."""

    begin: datetime
    end: datetime
    least: float
    most: float

    def place(self, at: datetime) -> float:
        part = (at - self.begin) / (self.end - self.begin)
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def height(self, value: float) -> float:
        part = (value - self.least) / (self.most - self.least)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)


def text(value: object) -> str:
    """Return a text of others as text of HTML and SVG, also within quotes."""
    shown = safe_text.printable(str(value)).encode("utf-8", "replace").decode("utf-8")
    return html.escape(shown, quote=True)


def draw(
    title: str, lines: Sequence[Line], bounds: Sequence[Bound], written: Callable[[float], str]
) -> str:
    """Return the drawing; empty: there is nothing to draw.

    Args:
        title: What it shows, for those who do not see it.
        lines: A line for each side.
        bounds: What is allowed.
        written: Writes a value with its unit.
    """
    frame = _frame(lines, bounds)
    if frame is None:
        return ""
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{text(title)}</title>',
        *_axes(frame, written),
        *(_bound(frame, bound, written) for bound in bounds),
    ]
    for number, line in enumerate(lines):
        parts += _line(frame, line, min(number, SIDES - 1), written)
    return "".join([*parts, "</svg>"])


def _frame(lines: Sequence[Line], bounds: Sequence[Bound]) -> _Frame | None:
    known = [(at, value) for line in lines for at, value in line.points if _is_number(value)]
    if not known:
        return None
    values = [value for _, value in known if value is not None]
    values += [bound.value for bound in bounds if _is_number(bound.value)]
    # From zero, so that a small difference does not look like a big one.
    least, most = min(0.0, *values), max(0.0, *values)
    if least == most:
        most = 1.0
    moments = [at for line in lines for at, _ in line.points]
    begin = min(moments)
    return _Frame(begin, max(*moments, begin + _SHORTEST), least, most)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and abs(value) < 1e300


def _axes(frame: _Frame, written: Callable[[float], str]) -> Iterator[str]:
    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value in (frame.least, frame.most):
        y = frame.height(value)
        yield f'<path class="axis" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" class="end">{text(written(value))}</text>'
    yield f'<text x="{_LEFT}" y="{low + 15}">{frame.begin:%H:%M:%S}</text>'
    yield f'<text x="{right}" y="{low + 15}" class="end">{frame.end:%H:%M:%S}</text>'


def _bound(frame: _Frame, bound: Bound, written: Callable[[float], str]) -> str:
    if not _is_number(bound.value):
        return ""
    y, right = frame.height(bound.value), _WIDTH - _RIGHT
    said = text(f"{bound.name} {written(bound.value)}")
    kind = "bound soft" if bound.is_soft else "bound"
    # A soft bound is below the one that decides, and so are its words.
    words = min(y + 12, _HEIGHT - _BOTTOM) if bound.is_soft else max(y - 4, _TOP + 10)
    return (
        f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{right}"><title>{said}</title></path>'
        f'<text x="{_LEFT + 4}" y="{words:.1f}" class="said">{said}</text>'
    )


def _line(frame: _Frame, line: Line, side: int, written: Callable[[float], str]) -> Iterator[str]:
    for is_known, run in groupby(line.points, key=lambda point: _is_number(point[1])):
        if not is_known:
            continue
        points = [(at, value) for at, value in run if value is not None]
        places = [f"{frame.place(at):.1f} {frame.height(value):.1f}" for at, value in points]
        yield f'<path class="side s{side}" d="M{"L".join(places)}"/>'
        for (at, value), place in zip(points, places, strict=True):
            x, y = place.split()
            said = text(f"{line.name} at {at:%H:%M:%S}: {written(value)}")
            yield f'<circle class="s{side}" cx="{x}" cy="{y}" r="2"><title>{said}</title></circle>'
