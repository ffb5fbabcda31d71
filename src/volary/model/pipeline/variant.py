"""The three variants of a workload that live side by side in a cluster."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, assert_never

from volary.model import options


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

    key: Annotated[options.LabelKey, options.Form.NOT_EMPTY] = options.option(
        "Key of the label.", "pipecd.dev/variant"
    )
    primary_value: Annotated[options.LabelValue, options.Form.NOT_EMPTY] = options.option(
        "Value for primary.", "primary"
    )
    canary_value: Annotated[options.LabelValue, options.Form.NOT_EMPTY] = options.option(
        "Value for canary.", "canary"
    )
    baseline_value: Annotated[options.LabelValue, options.Form.NOT_EMPTY] = options.option(
        "Value for baseline.", "baseline"
    )
    on_pods: bool = options.option(
        "Put primary's label on the pods of its workloads, but not into their selectors: those of "
        "workloads that exist cannot be changed.",
        False,
    )

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
