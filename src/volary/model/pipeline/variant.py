"""The three variants of a workload that live side by side in a cluster."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class Variant(StrEnum):
    """Primary serves; canary is the new version; baseline the current one at the canary's scale."""

    PRIMARY = "primary"
    CANARY = "canary"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class VariantLabel:
    """The label that tells variants apart (PipeCD: ``variantLabel``).

    The key stays PipeCD's by default: selectors of existing workloads are immutable.
    """

    key: str = "pipecd.dev/variant"
    primary_value: str = "primary"
    canary_value: str = "canary"
    baseline_value: str = "baseline"
    #: Put primary's label on the pods of its workloads, and not into their selectors: those
    #: of workloads that exist cannot be changed.
    on_pods: bool = False

    def value(self, variant: Variant) -> str:
        """Return the label's value for `variant`."""
        match variant:
            case Variant.PRIMARY:
                return self.primary_value
            case Variant.CANARY:
                return self.canary_value
            case Variant.BASELINE:
                return self.baseline_value
            case _:
                assert_never(variant)
