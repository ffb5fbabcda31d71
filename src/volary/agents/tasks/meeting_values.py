"""What tasks of a stage say to each other, as documents: values of few types, and of no others."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from volary.model import analysis, json
from volary.stages.kinds import progressive_traffic

#: By the name under which they travel. A bool is an int, so it comes first.
_TYPES: Mapping[str, type[Any]] = {
    "bool": bool,
    "number": int,
    "text": str,
    "time": datetime,
    "series": analysis.Series,
    "report": progressive_traffic.Report,
}


def write(value: object) -> Any | None:
    """Return a value as a document; None: it is not for others, who find it out themselves."""
    for name, kind in _TYPES.items():
        if isinstance(value, kind):
            return {"type": name, "value": finite(msgspec.to_builtins(value))}
    return None


def read(document: Any) -> object | None:
    """Return the value of a document; None: it is none that is known here."""
    if not isinstance(document, dict):
        return None
    kind = _TYPES.get(str(document.get("type")))
    if kind is None:
        return None
    try:
        # Not strict: NaN and infinities are texts.
        value: object = json.convert(document.get("value"), kind, strict=kind not in _WITH_NUMBERS)
    except msgspec.ValidationError:
        return None
    return value


_WITH_NUMBERS = (analysis.Series, progressive_traffic.Report)


def finite(value: Any) -> Any:
    """Return plain values with texts for numbers that JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return value
