"""All claims, by the heading of the page under which they stand."""

from collections.abc import Mapping, Sequence

from benchmarks.claims import answers, claim, looking_again, looks, metrics

SECTIONS: Mapping[str, Sequence[claim.Claim]] = {
    "The three answers": answers.CLAIMS,
    "Looks": looks.CLAIMS,
    "Several metrics": metrics.CLAIMS,
    "Looking again and again": looking_again.CLAIMS,
}
