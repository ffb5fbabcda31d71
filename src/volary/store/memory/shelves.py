"""What the groups of methods share: plain dictionaries, and how values are copied."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar, cast

import msgspec

from volary.model import json
from volary.model.runs import run_records
from volary.store import encoding, fencing, records

Value = TypeVar("Value")


@dataclass(slots=True)
class RunShelf:
    """All that belongs to one run, and goes with it."""

    head: run_records.RunHead
    version: int
    last_event: int
    digest: str
    document: json.JsonObject
    origin: json.JsonObject
    stages: dict[str, run_records.StageRecord] = field(default_factory=dict)
    tasks: dict[tuple[str, str], run_records.TaskRecord] = field(default_factory=dict)
    commands: dict[str, run_records.CommandRecord] = field(default_factory=dict)
    approvals: list[run_records.ApprovalRecord] = field(default_factory=list)
    #: Version, time and document of what drove it.
    journal: list[tuple[int, datetime, json.JsonObject]] = field(default_factory=list)
    events: list[records.FeedEvent] = field(default_factory=list)
    logs: list[records.StoredLogLine] = field(default_factory=list)
    findings: list[records.StoredFinding] = field(default_factory=list)
    #: Attempt and document, by stage and target.
    memories: dict[tuple[str, str], tuple[int, json.JsonObject]] = field(default_factory=dict)

    @property
    def stored_version(self) -> fencing.StoredVersion:
        """How it stands."""
        return fencing.StoredVersion(self.version, self.last_event, self.digest)


@dataclass(slots=True)
class Shelves:
    """Everything that is kept."""

    runs: dict[str, RunShelf] = field(default_factory=dict)
    #: Given back leases have no owner and keep their number.
    leases: dict[str, records.Lease] = field(default_factory=dict)
    applications: dict[str, records.ApplicationRecord] = field(default_factory=dict)
    commits: dict[tuple[str, str], records.CommitRecord] = field(default_factory=dict)
    inventory: dict[tuple[str, str], tuple[records.InventoryItem, ...]] = field(
        default_factory=dict
    )
    clusters: dict[str, records.ClusterRecord] = field(default_factory=dict)
    requests: dict[str, records.RequestRecord] = field(default_factory=dict)
    #: By application, target and name.
    memories: dict[tuple[str, str, str], json.JsonObject] = field(default_factory=dict)
    audit: list[records.AuditRecord] = field(default_factory=list)
    positions: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    #: Of the newest event of any run.
    last_position: int = 0

    def check_fence(self, fence: run_records.Fence | None) -> None:
        """Let the holder of the lease pass."""
        fencing.check_fence(fence, {name: lease.number for name, lease in self.leases.items()})


def own(value: Value) -> Value:
    """Return a copy as it would come back from a database: clean text, times in UTC."""
    return cast("Value", _own(value))


def _own(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        copies = {each.name: _own(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **copies)
    match value:
        case str() if not isinstance(value, Enum):
            return encoding.clean(value)
        case datetime():
            return value.astimezone(UTC)
        case tuple():
            return tuple(_own(each) for each in value)
        case Mapping():
            return msgspec.json.decode(encoding.encode(value))
        case _:
            return value
