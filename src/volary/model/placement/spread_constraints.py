"""Words of spreading an application: over how many clusters, regions or the like.

Source of the rules: Karmada's spread constraints.
"""

from dataclasses import dataclass
from enum import StrEnum

from volary.model import options


class Field(StrEnum):
    """What clusters are counted by."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Constraint:
    """How many clusters, or groups of clusters, the application is on."""

    by: Field | None = options.option("`cluster`, `region`, `zone` or `provider`.", None)
    by_label: str = options.option("Instead of `by`: a label of the clusters.", "")
    min_groups: int = options.option("Fewer are an error.", 1, least=0)
    max_groups: int = options.option("No more than these; 0: any number.", 0, least=0)

    @property
    def field(self) -> Field:
        """What is counted, where it is not a label."""
        return self.by or Field.CLUSTER

    @property
    def least(self) -> int:
        """Fewer are an error; at least 1."""
        return max(self.min_groups, 1)

    @property
    def key(self) -> str:
        """What is counted, in words: ``cluster``, ``region``, ``label ring``."""
        return f"label {self.by_label}" if self.by_label else self.field.value

    @property
    def is_of_clusters(self) -> bool:
        """Whether clusters themselves are counted."""
        return not self.by_label and self.field is Field.CLUSTER
