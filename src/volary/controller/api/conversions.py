"""From what is kept to what people see. Pure."""

from dataclasses import replace

import msgspec

from volary.controller.api import (
    assigned_replicas,
    cluster_service,
    plan_representations,
    representations,
)
from volary.controller.preview import previews, target_groups
from volary.controller.runs import moves
from volary.controller.status import (
    application_statuses,
    cluster_releases,
    run_admission,
    run_origins,
    run_requests,
)
from volary.engine.observers import explanations
from volary.engine.persistence import codec
from volary.engine.runs import policies, state
from volary.engine.state_machine import deadlines, failures, requests, sightings
from volary.manifests.diff import value_diff
from volary.model import json
from volary.model.runs import run_records
from volary.store import records


def of_application(known: records.ApplicationRecord) -> representations.Application:
    """Return an application as people see it; one that cannot be read says why."""
    if why := application_statuses.why_unreadable(known):
        word = application_statuses.StatusWord.UNREADABLE.value
        known = replace(known, document={}, status=word, reason=why)
    application_status = application_statuses.from_document(known.document)
    run_request, pause = application_status.run_request, application_status.pause
    return representations.build(
        representations.Application,
        known,
        application_status,
        status=known.status or application_statuses.StatusWord.UNKNOWN.value,
        running_commit=application_status.releases.running,
        waiting=_waiting(run_request, application_status.waiting_reason) if run_request else None,
        paused=run_admission.describe_pause(pause) if pause else "",
        missing=cluster_releases.missing_reasons(application_status.releases),
        cause="",
        run_status="",
    )


def of_cluster_application(
    known: records.ApplicationRecord,
    status: application_statuses.ApplicationStatus,
    cluster: str,
) -> cluster_service.ClusterApplication:
    """Return what a cluster has of an application."""
    release = status.releases.of(cluster)
    return representations.build(
        cluster_service.ClusterApplication,
        known,
        commit=release.commit,
        completed=status.releases.completed,
        missing=cluster_releases.missing_reasons(status.releases).get(cluster, ""),
        leaving=release.leaving.reason if release.leaving else "",
        run=status.run,
    )


def _waiting(run_request: run_requests.RunRequest, why: str) -> representations.PendingRun:
    return representations.build(
        representations.PendingRun,
        run_request,
        run=run_request.id,
        waiting_reason=why or "it is being prepared",
    )


def of_summary(kept: records.RunSummary) -> representations.RunSummary:
    """Return a run as lists show it."""
    head = kept.head
    if kept.unreadable:
        head = replace(head, reason=f"what is stored of it cannot be read: {kept.unreadable}")
    return _summary(head, kept.version, origin_of(kept.origin))


def origin_of(document: json.JsonObject) -> run_origins.Origin:
    """Return why a run exists; one that cannot be read hides neither its run nor the others."""
    try:
        return run_origins.from_document(document)
    except msgspec.ValidationError as error:
        return run_origins.Origin("", "", reason=f"why it exists cannot be read: {error}")


def _summary(
    head: run_records.RunHead, version: int, origin: run_origins.Origin
) -> representations.RunSummary:
    return representations.build(
        representations.RunSummary, head, origin, trigger=origin.reason, version=version
    )


def of_run(
    stored: run_records.StoredRun,
    approvals: tuple[run_records.ApprovalRecord, ...],
    known: records.ApplicationRecord | None = None,
) -> representations.Run:
    """Return a whole run with what it waits for and what comes next.

    Args:
        stored: The run.
        approvals: Who agreed and who did not.
        known: Its application, for what waits for the run; None: nothing is said about that.
    """
    run, origin = codec.read_run(stored), origin_of(stored.origin)
    undone = failures.undone(run)
    is_known = known is not None and not application_statuses.why_unreadable(known)
    application_status = (
        application_statuses.from_document(known.document) if known and is_known else None
    )
    return representations.build(
        representations.Run,
        run,
        stored,
        summary=_summary(stored.head, stored.version, origin),
        plan=origin.summary,
        stages=tuple(_stage(stage) for stage in run.stages),
        rollback=_stage(run.rollback) if run.rollback else None,
        targets=tuple(
            representations.build(
                representations.Target, cluster, exception=undone.get(cluster.name, "")
            )
            for cluster in run.clusters
        ),
        approvals=tuple(
            representations.build(representations.Approval, approval) for approval in approvals
        ),
        pending_approval=_wanted_approval(run),
        paused_by=run.pause.by if run.pause else "",
        unfrozen=requests.unfreeze_reason(run.unfrozen) if run.unfrozen else "",
        waiting_reason=explanations.waiting_reason(run),
        what_next=explanations.what_next(run),
        next_commands=explanations.next_commands(run),
        if_failed="" if run.is_final else explanations.if_failed(run),
        move=moves.waiting_reason(application_status, run.id) if application_status else "",
        seen=representations.build(representations.Sighting, sightings.of_run(run)),
        replicas=assigned_replicas.of_assignment(origin.assigned),
        waves=tuple(of_wave(run, rule) for rule in run.waves),
    )


def of_wave(run: state.Run, rule: policies.WaveRule) -> representations.RunWave:
    """Return a wave of a run with what it puts up with, and what it has put up with."""
    known = [run.cluster(name) for name in rule.targets]
    left_out = [cluster.left_out_for for cluster in known if cluster]
    return representations.build(
        representations.RunWave,
        rule,
        clusters=rule.targets,
        failed=left_out.count(state.LeftOut.FAILED),
        lost=left_out.count(state.LeftOut.UNREACHABLE),
        on_failure=rule.on_failure.value,
    )


def _stage(stage: state.StageState) -> representations.Stage:
    return representations.build(
        representations.Stage,
        stage,
        name=stage.stage.name,
        tasks=tuple(_task(task, group.name) for group in stage.groups for task in group.tasks),
    )


def _task(task: state.TaskState, group: str) -> representations.Task:
    progress = task.progress or state.Progress("")
    return representations.build(
        representations.Task, task, progress, group=group, progress=progress.sentence
    )


def _wanted_approval(run: state.Run) -> representations.PendingApproval | None:
    if run.is_final:
        return None
    group = deadlines.waiting_group(run)
    if group is None or group.rule is None:
        return None
    return representations.PendingApproval(
        stage=run.current.id,
        group=group.name,
        needed=group.rule.count,
        given=len(group.approvals),
        approvers=group.rule.approvers,
        expires=group.expires,
    )


def of_plan(shown: previews.Preview) -> plan_representations.Plan:
    """Return what a prepared run would do; it is redacted already."""
    return representations.build(
        plan_representations.Plan,
        shown,
        stages=tuple(
            representations.build(plan_representations.PlannedStage, stage, clusters=stage.targets)
            for stage in shown.stages
        ),
        clusters=tuple(map(_planned_cluster, shown.targets)),
        replicas=assigned_replicas.of_assignment(shown.replicas),
        groups=_planned_groups(shown),
        variations=tuple(map(_planned_variation, shown.variations)),
    )


def _planned_variation(
    found: target_groups.Variation,
) -> plan_representations.PlannedVariation:
    return representations.build(
        plan_representations.PlannedVariation,
        found,
        object=str(found.key),
        sides=tuple(
            plan_representations.VariationSide(side.targets[0], side.verb, side.values)
            for side in found.sides
        ),
    )


def _planned_groups(shown: previews.Preview) -> tuple[plan_representations.PlannedGroup, ...]:
    by_name = {target.target: target for target in shown.targets}
    return tuple(_planned_group(group, by_name[group.targets[0]]) for group in shown.groups)


def _planned_group(
    group: target_groups.TargetGroup, first: previews.TargetPreview
) -> plan_representations.PlannedGroup:
    reason = first.unreachable_reason
    return plan_representations.PlannedGroup(
        group.targets,
        first.status.value,
        created=first.count(previews.Verb.CREATED),
        changed=first.count(previews.Verb.CHANGED),
        pruned=first.count(previews.Verb.PRUNED),
        kept=first.count(previews.Verb.KEPT),
        diffs=tuple(
            plan_representations.ObjectDiff(str(item.key), item.verb, item.text, item.omitted)
            for item in group.diffs
        ),
        omitted=group.omitted,
        problems=(*first.problems, *([reason] if reason else [])),
    )


def _planned_cluster(preview: previews.TargetPreview) -> plan_representations.PlannedCluster:
    return representations.build(
        plan_representations.PlannedCluster,
        preview,
        name=preview.target,
        created=preview.count(previews.Verb.CREATED),
        changed=preview.count(previews.Verb.CHANGED),
        pruned=preview.count(previews.Verb.PRUNED),
        kept=preview.count(previews.Verb.KEPT),
        objects=tuple(
            representations.build(
                plan_representations.PlannedObject,
                item,
                object=str(item.key),
                action=item.verb,
                differences=tuple(map(_difference, item.differences)),
            )
            for item in preview.objects
        ),
    )


def _difference(item: value_diff.Item) -> json.JsonObject:
    """Return one difference; a side that is absent has no key."""
    sides = {"old": item.old, "new": item.new}
    there = {name: value for name, value in sides.items() if value is not value_diff.ABSENT}
    operation = "change" if len(there) == len(sides) else "add" if "new" in there else "remove"
    return {"path": item.path, "operation": operation, **there}


def of_event(event: records.FeedEvent) -> representations.Event:
    """Return an event of a feed."""
    return representations.build(representations.Event, event, event.record, run=event.run_id)


def of_line(line: records.LogLine) -> representations.LogLine:
    """Return a line of a log."""
    return representations.build(representations.LogLine, line)


def of_finding(finding: records.Finding) -> representations.Finding:
    """Return what an analysis measured or concluded."""
    return representations.build(representations.Finding, finding)


def of_commit(commit: records.CommitRecord) -> representations.Commit:
    """Return a commit of an application."""
    return representations.build(representations.Commit, commit, run=commit.run_id)


def of_audit(entry: records.AuditRecord) -> representations.AuditEntry:
    """Return an entry of the audit; what cannot be read of one is said in its document."""
    if entry.unreadable:
        entry = replace(entry, document={"unreadable": entry.unreadable})
    return representations.build(representations.AuditEntry, entry, run=entry.run_id)
