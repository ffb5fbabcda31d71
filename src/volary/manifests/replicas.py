"""How many pods a variant gets."""

from volary.model import stage

DEFAULT = 1
_WHOLE = 100


def calculate(wanted: stage.Replicas | None, total: int, default: int = DEFAULT) -> int:
    """Return the number of pods for `wanted` of a workload with `total` pods.

    Percentages are rounded up; ``0`` and ``0%`` mean the default (PipeCD: Calculate).
    """
    if wanted is None or wanted.number == 0:
        return default
    if not wanted.is_percentage:
        return wanted.number
    return -(-wanted.number * total // _WHOLE)
