"""Words of spreading an application: over how many clusters, regions or the like.

Source of the rules: Karmada's spread constraints.
"""

from dataclasses import dataclass
from enum import StrEnum


class Field(StrEnum):
    """What clusters are counted by."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Constraint:
    """How many groups of clusters an application is on."""

    field: Field = Field.CLUSTER
    #: Not empty: groups are the values of this label, whatever `field` says.
    label: str = ""
    #: Fewer are an error; at least 1.
    least: int = 1
    #: 0: any number.
    most: int = 0

    @property
    def key(self) -> str:
        """What is counted, in words: ``cluster``, ``region``, ``label ring``."""
        return f"label {self.label}" if self.label else self.field.value

    @property
    def is_of_clusters(self) -> bool:
        """Whether clusters themselves are counted."""
        return not self.label and self.field is Field.CLUSTER
