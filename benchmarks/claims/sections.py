"""All claims, by the heading of the page under which they stand."""

from collections.abc import Mapping, Sequence

from benchmarks.claims import (
    answers,
    claim,
    fleets,
    kinds,
    limits,
    looking_again,
    looks,
    metrics,
    speed,
    three_sides,
    weather,
)

SECTIONS: Mapping[str, Sequence[claim.Claim]] = {
    "The three answers": answers.CLAIMS,
    "Looks": looks.CLAIMS,
    "Several metrics": metrics.CLAIMS,
    "Which test": kinds.CLAIMS,
    "Three sides": three_sides.CLAIMS,
    "Looking again and again": looking_again.CLAIMS,
    "How soon bad ones are found": speed.CLAIMS,
    "Many clusters": fleets.CLAIMS,
    "Weather": weather.CLAIMS,
    "Where the promise ends": limits.CLAIMS,
}
