"""The fields of ``failover`` in the controller's settings, and how they are read."""

from typing import Annotated

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model.placement import failover_rules

_PATH: yaml.Path = ("failover",)
_Percent = Annotated[int, Field(ge=1, le=100, strict=True)]
_Moves = Annotated[int, Field(ge=0, le=10_000, strict=True)]


class Failover(base_sections.Section):
    """How much is moved away from lost clusters, of all applications together."""

    stop_at_percent: _Percent = Field(
        default=55,
        description="From this share of the fleet that looks lost on, it is taken for our own "
        "loss: nothing is moved, and an alarm is raised.",
    )
    moves_per_minute: _Moves = Field(
        default=30, description="One application off one cluster is one move; 0: none."
    )
    slow_at_percent: _Percent = Field(
        default=25,
        description="From this share of the fleet that looks lost on, it goes slower; left out: "
        "at most `stopAtPercent`.",
    )
    slow_moves_per_minute: _Moves = Field(
        default=6, description="How many moves then; left out: at most `movesPerMinute`."
    )


def convert(reading: readings.Reading, read: Failover) -> failover_rules.FailoverLimits:
    """Return the limits; problems are noted.

    What is not written is never more than what is: who writes `movesPerMinute: 0` means both.
    """
    slow_share, slow_moves = read.slow_at_percent, read.slow_moves_per_minute
    if "slow_at_percent" not in read.model_fields_set:
        slow_share = min(slow_share, read.stop_at_percent)
    if "slow_moves_per_minute" not in read.model_fields_set:
        slow_moves = min(slow_moves, read.moves_per_minute)
    if slow_share > read.stop_at_percent:
        message = f"nothing is moved from {read.stop_at_percent} % on, so it never goes slower"
        reading.error((*_PATH, "slowAtPercent"), message, "write a smaller share")
    if slow_moves > read.moves_per_minute:
        message = "it would go faster when more is lost"
        reading.error((*_PATH, "slowMovesPerMinute"), message, "write fewer moves")
    return failover_rules.FailoverLimits(
        read.stop_at_percent, read.moves_per_minute, slow_share, slow_moves
    )
