"""Why a run exists and what it is pinned to: the document that is kept with a new run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import msgspec

from volary.controller.status import run_requests
from volary.model import applications, json
from volary.model.objects import ownership
from volary.placement.replicas import assignment


@dataclass(frozen=True, slots=True)
class Origin:
    """All that another process needs, besides the state, to go on with a run."""

    #: Name of the repository in the settings.
    repository: str
    #: The application's file, relative to the root of the repository.
    path: str
    branch: str = ""
    #: The clusters that the settings named when it was planned; None: those of its file.
    selector: applications.TargetSelector | None = None
    subject: str = ""
    author: str = ""
    #: Says what the run's beginning and end mean for its application.
    kind: run_requests.KindName = run_requests.KindName.RELEASE
    #: Why the run exists, one sentence.
    reason: str = ""
    by: str = ""
    strategy: str = ""
    #: Why this strategy.
    summary: str = ""
    targets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: Clusters that the application is on once it succeeded.
    chosen: tuple[str, ...] = ()
    #: Who gets how many replicas, and who had: the same in every stage and in a rollback.
    assigned: assignment.Assignment = assignment.EMPTY
    assigned_before: assignment.Assignment = assignment.EMPTY
    #: Whose the application's objects are, by target.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)


def to_document(origin: Origin) -> json.JsonObject:
    """Return the origin as JSON."""
    return cast("json.JsonObject", msgspec.to_builtins(origin))


def from_document(document: json.JsonObject) -> Origin:
    """Read an origin."""
    return json.convert(document, Origin)
