"""What is done about drift: live objects that are not as Git says at the commit that counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from volary.model import options


class DriftMode(StrEnum):
    """Whether clusters are compared with Git while no run is under way, and what follows."""

    OFF = "off"
    REPORT = "report"
    REPAIR = "repair"

    @classmethod
    def _missing_(cls, value: object) -> "DriftMode | None":
        # YAML reads `off` without quotes as false.
        return cls.OFF if value is False else None


#: Stands for every group or kind.
ANY = "*"


@dataclass(frozen=True, slots=True)
class IgnoredDifference:
    """Fields of some objects that are not compared, as Argo CD's `ignoreDifferences`."""

    refused: ClassVar[Mapping[str, options.Refusal]] = {
        "jqPathExpressions": options.Refusal(
            "fields that are found by jq, as in Argo CD",
            "name them under jsonPointers, or their owner under managedFieldsManagers",
        )
    }

    kind: str = options.option("Kind of the objects; `*`: every kind.", ANY)
    group: str = options.option("API group; empty: the core group; `*`: every group.", "")
    name: str = options.option("Empty: every name.", "")
    namespace: str = options.option("Empty: every namespace.", "")
    json_pointers: tuple[str, ...] = options.option(
        "What is not compared, such as `/spec/replicas`, with all that is below.", ()
    )
    managed_fields_managers: tuple[str, ...] = options.option(
        "Field managers whose fields are not compared.", ()
    )

    def is_for(self, group: str, kind: str, namespace: str, name: str) -> bool:
        """Say whether an object is meant."""
        return (
            self.group in (ANY, group)
            and self.kind in (ANY, kind)
            and self.namespace in ("", namespace)
            and self.name in ("", name)
        )


@dataclass(frozen=True, slots=True)
class DriftRules:
    """What is done about an application's drift, as its file says."""

    #: None: as the settings say.
    mode: DriftMode | None = None
    ignored: tuple[IgnoredDifference, ...] = ()
    #: Between the beginnings of two repairs, at least.
    window: timedelta = timedelta(minutes=5)
