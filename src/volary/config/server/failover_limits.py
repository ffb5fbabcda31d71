"""``failover`` in the controller's settings: what is left out, and what has no effect."""

from dataclasses import replace

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model.placement import failover_rules

_PATH: yaml.Path = ("failover",)


def complete(
    reading: readings.Reading, read: failover_rules.FailoverLimits
) -> failover_rules.FailoverLimits:
    """Return the limits with what was left out; problems are noted.

    What is not written is never more than what is: who writes `movesPerMinute: 0` means both.
    """
    slow_share, slow_moves = read.slow_at_percent, read.slow_moves_per_minute
    if reading.written((*_PATH, "slowAtPercent")) is None:
        slow_share = min(slow_share, read.stop_at_percent)
    if reading.written((*_PATH, "slowMovesPerMinute")) is None:
        slow_moves = min(slow_moves, read.moves_per_minute)
    if slow_share > read.stop_at_percent:
        message = f"nothing is moved from {read.stop_at_percent} % on, so it never goes slower"
        reading.error((*_PATH, "slowAtPercent"), message, "write a smaller share")
    if slow_moves > read.moves_per_minute:
        message = "it would go faster when more is lost"
        reading.error((*_PATH, "slowMovesPerMinute"), message, "write fewer moves")
    return replace(read, slow_at_percent=slow_share, slow_moves_per_minute=slow_moves)
