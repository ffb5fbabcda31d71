"""From what is kept to what people see. Pure."""

from volary.controller.api import representations
from volary.controller.preview import previews
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
from volary.engine.runs import state
from volary.engine.state_machine import deadlines, requests
from volary.manifests.diff import value_diff
from volary.model import json
from volary.model.runs import run_records
from volary.placement.replicas import assignment
from volary.store import records


def of_application(known: records.ApplicationRecord) -> representations.Application:
    """Return an application as people see it."""
    application_status = application_statuses.from_document(known.document)
    return representations.Application(
        name=known.name,
        repository=known.repository,
        path=known.path,
        branch=known.branch,
        labels=dict(known.labels),
        status=known.status or application_statuses.StatusWord.UNKNOWN.value,
        reason=known.reason,
        running_commit=application_status.releases.running,
        head=application_status.head,
        run=application_status.run,
        waiting=_waiting(application_status.run_request, application_status.waiting_reason)
        if application_status.run_request
        else None,
        paused=run_admission.describe_pause(application_status.pause)
        if application_status.pause
        else "",
        missing=cluster_releases.missing_reasons(application_status.releases),
        updated=known.updated,
        removed=known.removed,
        version=known.version,
    )


def _waiting(run_request: run_requests.RunRequest, why: str) -> representations.PendingRun:
    return representations.PendingRun(
        run=run_request.id,
        commit=run_request.commit,
        reason=run_request.reason,
        kind=run_request.kind.value,
        by=run_request.by,
        waiting_reason=why or "it is being prepared",
    )


def of_summary(kept: records.RunSummary) -> representations.RunSummary:
    """Return a run as lists show it."""
    return _summary(kept.head, kept.version, run_origins.from_document(kept.origin))


def _summary(
    head: run_records.RunHead, version: int, origin: run_origins.Origin
) -> representations.RunSummary:
    return representations.RunSummary(
        id=head.id,
        application=head.application,
        status=head.status.value,
        reason=head.reason,
        commit=head.commit,
        running_commit=head.running_commit,
        subject=origin.subject,
        trigger=origin.reason,
        by=origin.by,
        strategy=origin.strategy,
        targets=origin.targets,
        created=head.created,
        started=head.started,
        finished=head.finished,
        version=version,
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
    run, origin = codec.read_run(stored), run_origins.from_document(stored.origin)
    return representations.Run(
        summary=_summary(stored.head, stored.version, origin),
        plan=origin.summary,
        stages=tuple(_stage(stage) for stage in run.stages),
        rollback=_stage(run.rollback) if run.rollback else None,
        targets=tuple(
            representations.Target(cluster.name, cluster.touched, cluster.left_out)
            for cluster in run.clusters
        ),
        approvals=tuple(
            representations.Approval(
                approval.stage,
                approval.group,
                approval.by,
                approval.at,
                approval.approved,
                approval.comment,
            )
            for approval in approvals
        ),
        pending_approval=_wanted_approval(run),
        paused_by=run.pause.by if run.pause else "",
        unfrozen=requests.unfreeze_reason(run.unfrozen) if run.unfrozen else "",
        held=run.held,
        deadline=run.deadline,
        waiting_reason=explanations.waiting_reason(run),
        what_next=explanations.what_next(run),
        if_failed="" if run.is_final else explanations.if_failed(run),
        move=moves.waiting_reason(application_statuses.from_document(known.document), run.id)
        if known
        else "",
        last_event=stored.last_event,
        replicas=of_assignment(origin.assigned),
    )


def _stage(stage: state.StageState) -> representations.Stage:
    return representations.Stage(
        id=stage.id,
        name=stage.stage.name,
        status=stage.status.value,
        reason=stage.reason,
        started=stage.started,
        finished=stage.finished,
        deadline=stage.deadline,
        wave=stage.wave,
        promoted=stage.promoted,
        tasks=tuple(_task(task, group.name) for group in stage.groups for task in group.tasks),
    )


def _task(task: state.TaskState, group: str) -> representations.Task:
    said = task.progress or state.Progress("")
    return representations.Task(
        target=task.target,
        group=group,
        status=task.status.value,
        reason=task.reason,
        attempt=task.attempt,
        started=task.started,
        finished=task.finished,
        deadline=task.deadline,
        progress=said.sentence,
        ready=said.ready,
        total=said.total,
        wanted_weights=dict(said.wanted_weights),
        observed_weights=dict(said.observed_weights),
        details=task.details,
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


def of_plan(shown: previews.Preview) -> representations.Plan:
    """Return what a prepared run would do; it is redacted already."""
    return representations.Plan(
        application=shown.application,
        commit=shown.commit,
        subject=shown.subject,
        running_commit=shown.running_commit,
        running_reason=shown.running_reason,
        strategy=shown.strategy.value,
        reason=shown.reason,
        images=shown.images,
        has_changes=shown.has_changes,
        failed=shown.failed,
        stages=tuple(
            representations.PlannedStage(
                stage.name, stage.description, stage.targets, stage.skipped
            )
            for stage in shown.stages
        ),
        clusters=tuple(map(_planned_cluster, shown.targets)),
        warnings=shown.warnings,
        replicas=of_assignment(shown.replicas),
    )


def of_assignment(made: assignment.Assignment) -> tuple[representations.WorkloadReplicas, ...]:
    """Return who gets how many replicas of each workload."""
    return tuple(_divided(workload, made) for workload in made.workloads)


def _divided(
    divided: assignment.WorkloadAssignment, made: assignment.Assignment
) -> representations.WorkloadReplicas:
    def one(name: str, share: assignment.Share) -> representations.ClusterReplicas:
        read_at = made.read_at.get(name) if name in divided.room else None
        return representations.ClusterReplicas(
            name,
            share.replicas,
            share.completions,
            share.least,
            divided.room[name] if read_at else None,
            read_at,
        )

    clusters = tuple(one(name, share) for name, share in divided.shares.items())
    return representations.WorkloadReplicas(str(divided.key), divided.reason, clusters)


def _planned_cluster(preview: previews.TargetPreview) -> representations.PlannedCluster:
    return representations.PlannedCluster(
        name=preview.target,
        status=preview.status.value,
        created=preview.count(previews.Verb.CREATED),
        changed=preview.count(previews.Verb.CHANGED),
        pruned=preview.count(previews.Verb.PRUNED),
        kept=preview.count(previews.Verb.KEPT),
        unchanged=preview.unchanged,
        objects=tuple(
            representations.PlannedObject(
                object=str(item.key),
                action=item.verb.value,
                reason=item.reason,
                differences=tuple(map(_difference, item.differences)),
                omitted=item.omitted,
            )
            for item in preview.objects
        ),
        problems=preview.problems,
        unreachable_reason=preview.unreachable_reason,
        warnings=preview.warnings,
    )


def _difference(item: value_diff.Item) -> json.JsonObject:
    """Return one difference; a side that is absent has no key."""
    body: json.JsonObject = {"path": item.path, "operation": item.operation.value}
    if item.old is not value_diff.ABSENT:
        body["old"] = item.old
    if item.new is not value_diff.ABSENT:
        body["new"] = item.new
    return body


def of_event(event: records.FeedEvent) -> representations.Event:
    """Return an event of a feed."""
    return representations.Event(
        position=event.position,
        run=event.run_id,
        application=event.application,
        number=event.number,
        at=event.record.at,
        event=event.record.event,
        document=event.record.document,
    )


def of_line(kept: records.StoredLogLine) -> representations.LogLine:
    """Return a line of a log."""
    line = kept.line
    return representations.LogLine(
        position=kept.position,
        number=kept.number,
        at=line.at,
        stage=line.stage,
        target=line.target,
        attempt=line.attempt,
        level=line.level,
        text=line.text,
    )


def of_finding(kept: records.StoredFinding) -> representations.Finding:
    """Return what an analysis found."""
    finding = kept.finding
    return representations.Finding(
        position=kept.position,
        number=kept.number,
        at=finding.at,
        stage=finding.stage,
        target=finding.target,
        attempt=finding.attempt,
        kind=finding.kind,
        metric=finding.metric,
        document=finding.document,
    )


def of_commit(kept: records.CommitRecord) -> representations.Commit:
    """Return a commit of an application."""
    return representations.Commit(
        commit=kept.commit,
        seen=kept.seen,
        subject=kept.subject,
        author=kept.author,
        status=kept.status,
        reason=kept.reason,
        run=kept.run_id,
    )


def of_audit(kept: records.AuditRecord) -> representations.AuditEntry:
    """Return an entry of the audit."""
    return representations.AuditEntry(
        position=kept.position,
        at=kept.at,
        by=kept.by,
        action=kept.action,
        result=kept.result,
        source=kept.source,
        application=kept.application,
        run=kept.run_id,
        document=kept.document,
    )
