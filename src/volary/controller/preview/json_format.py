"""A preview as JSON, documented in ``docs/how-to/pull-requests.md``, pure."""

from volary.controller.preview import previews
from volary.manifests.diff import value_diff
from volary.model import json
from volary.placement.replicas import assignment


def render(shown: previews.Preview) -> json.JsonObject:
    """Return the preview; keys are only ever added."""
    return {
        "application": shown.application,
        "commit": shown.commit,
        "subject": shown.subject,
        "runningCommit": shown.running_commit,
        "runningReason": shown.running_reason,
        "strategy": shown.strategy.value,
        "reason": shown.reason,
        "images": list(shown.images),
        "hasChanges": shown.has_changes,
        "failed": shown.failed,
        "stages": [
            {
                "name": stage.name,
                "description": stage.description,
                "clusters": list(stage.targets),
                "skipped": stage.skipped,
            }
            for stage in shown.stages
        ],
        "clusters": [_target(target) for target in shown.targets],
        "warnings": list(shown.warnings),
        "replicas": [replicas(workload, shown.replicas) for workload in shown.replicas.workloads],
    }


def replicas(
    divided: assignment.WorkloadAssignment, made: assignment.Assignment
) -> json.JsonObject:
    """Return who gets how many replicas of a workload; what does not apply is null."""
    return {
        "workload": str(divided.key),
        "reason": divided.reason,
        "clusters": [_share(name, divided, made) for name in divided.shares],
    }


def _share(
    name: str, divided: assignment.WorkloadAssignment, made: assignment.Assignment
) -> json.JsonObject:
    share = divided.shares[name]
    read_at = made.read_at.get(name) if name in divided.room else None
    return {
        "name": name,
        "replicas": share.replicas,
        "completions": share.completions,
        "leastReplicas": share.least,
        "free": divided.room[name] if read_at else None,
        "readAt": read_at.isoformat().replace("+00:00", "Z") if read_at else None,
    }


def _target(preview: previews.TargetPreview) -> json.JsonObject:
    return {
        "name": preview.target,
        "status": preview.status.value,
        **{verb.value: preview.count(verb) for verb in previews.Verb},
        "unchanged": preview.unchanged,
        "objects": [_object(item) for item in preview.objects],
        "problems": list(preview.problems),
        "unreachableReason": preview.unreachable_reason,
        "warnings": list(preview.warnings),
    }


def _object(item: previews.ObjectPreview) -> json.JsonObject:
    return {
        "object": str(item.key),
        "action": item.verb.value,
        "reason": item.reason,
        "differences": [difference(changed_value) for changed_value in item.differences],
        "omitted": item.omitted,
    }


def difference(item: value_diff.Item) -> json.JsonObject:
    """Return one difference; a side that is absent has no key."""
    body: json.JsonObject = {"path": list(item.path), "operation": item.operation.value}
    if item.old is not value_diff.ABSENT:
        body["old"] = item.old
    if item.new is not value_diff.ABSENT:
        body["new"] = item.new
    return body
