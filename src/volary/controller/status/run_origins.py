"""Why a run exists and what it is pinned to: the document that is kept with a new run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volary.controller.status import run_requests
from volary.model import json
from volary.placement.replicas import assignment, assignment_formats


@dataclass(frozen=True, slots=True)
class Origin:
    """All that another process needs, besides the state, to go on with a run."""

    #: Name of the repository in the settings.
    repository: str
    #: The application's file, relative to the root of the repository.
    path: str
    branch: str = ""
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
    #: What each target's manifests hash to: what the run is pinned to.
    digests: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    #: Clusters that the application is on once it succeeded.
    chosen: tuple[str, ...] = ()
    #: Who gets how many replicas, and who had: the same in every stage and on the way back.
    assigned: assignment.Assignment = assignment.EMPTY
    assigned_before: assignment.Assignment = assignment.EMPTY


def to_document(origin: Origin) -> json.JsonObject:
    """Return the origin as JSON."""
    return {
        "repository": origin.repository,
        "path": origin.path,
        "branch": origin.branch,
        "subject": origin.subject,
        "author": origin.author,
        "kind": origin.kind.value,
        "reason": origin.reason,
        "by": origin.by,
        "strategy": origin.strategy,
        "summary": origin.summary,
        "targets": list(origin.targets),
        "digests": dict(origin.digests),
        "warnings": list(origin.warnings),
        "chosen": list(origin.chosen),
        "assigned": assignment_formats.to_document(origin.assigned),
        "assignedBefore": assignment_formats.to_document(origin.assigned_before),
    }


def from_document(document: json.JsonObject) -> Origin:
    """Read an origin; what an earlier version did not write is empty."""
    return Origin(
        repository=document.get("repository", ""),
        path=document.get("path", ""),
        branch=document.get("branch", ""),
        subject=document.get("subject", ""),
        author=document.get("author", ""),
        kind=run_requests.KindName(document.get("kind", run_requests.KindName.RELEASE)),
        reason=document.get("reason", ""),
        by=document.get("by", ""),
        strategy=document.get("strategy", ""),
        summary=document.get("summary", ""),
        targets=tuple(document.get("targets", ())),
        digests=dict(document.get("digests", {})),
        warnings=tuple(document.get("warnings", ())),
        chosen=tuple(document.get("chosen", ())),
        assigned=assignment_formats.from_document(document.get("assigned", {})),
        assigned_before=assignment_formats.from_document(document.get("assignedBefore", {})),
    )
