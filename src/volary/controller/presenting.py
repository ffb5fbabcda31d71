"""From what is kept to what people see. Pure."""

from volary.controller import (
    moves,
    origins,
    pinning,
    preview,
    preview_json,
    reaching,
    standings,
    views,
    wants,
)
from volary.engine import codec, describe, limits, permits, state
from volary.model import record
from volary.placement import assignment
from volary.store import records


def of_application(known: records.ApplicationRecord) -> views.ApplicationView:
    """Return an application as people see it."""
    standing = standings.from_document(known.document)
    return views.ApplicationView(
        name=known.name,
        repository=known.repository,
        path=known.path,
        branch=known.branch,
        labels=dict(known.labels),
        status=known.status or standings.Status.UNKNOWN.value,
        reason=known.reason,
        running_commit=known.running_commit,
        head=standing.head,
        run=standing.run,
        waiting=_waiting(standing.want, standing.why_waiting) if standing.want else None,
        paused=pinning.said(standing.pause) if standing.pause else "",
        missing=reaching.told(standing.reached),
        updated=known.updated,
        removed=known.removed,
        version=known.version,
    )


def _waiting(want: wants.Want, why: str) -> views.WaitingView:
    return views.WaitingView(
        run=want.id,
        commit=want.commit,
        reason=want.reason,
        kind=want.kind.value,
        by=want.by,
        why_waiting=why or "it is being prepared",
    )


def of_summary(kept: records.RunSummary) -> views.RunSummaryView:
    """Return a run as lists show it."""
    return _summary(kept.head, kept.version, origins.from_document(kept.origin))


def _summary(head: record.RunHead, version: int, origin: origins.Origin) -> views.RunSummaryView:
    return views.RunSummaryView(
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
    stored: record.StoredRun,
    approvals: tuple[record.ApprovalRecord, ...],
    known: records.ApplicationRecord | None = None,
) -> views.RunView:
    """Return a whole run with what it waits for and what comes next.

    Args:
        stored: The run.
        approvals: Who agreed and who did not.
        known: Its application, for what waits for the run; None: nothing is said about that.
    """
    run, origin = codec.read_run(stored), origins.from_document(stored.origin)
    return views.RunView(
        summary=_summary(stored.head, stored.version, origin),
        plan=origin.summary,
        stages=tuple(_stage(each) for each in run.stages),
        rollback=_stage(run.rollback) if run.rollback else None,
        targets=tuple(
            views.TargetView(each.name, each.touched, each.left_out) for each in run.clusters
        ),
        approvals=tuple(
            views.ApprovalView(
                each.stage, each.group, each.by, each.at, each.approved, each.comment
            )
            for each in approvals
        ),
        wanted_approval=_wanted_approval(run),
        paused_by=run.pause.by if run.pause else "",
        unfrozen=permits.said(run.unfrozen) if run.unfrozen else "",
        held=run.held,
        deadline=run.deadline,
        why_waiting=describe.why_waiting(run),
        what_next=describe.what_next(run),
        if_failed="" if run.is_final else describe.if_failed(run),
        move=moves.waiting_for(standings.from_document(known.document), run.id) if known else "",
        last_event=stored.last_event,
        replicas=_all_divided(origin.assigned),
    )


def _stage(stage: state.StageState) -> views.StageView:
    return views.StageView(
        id=stage.id,
        name=stage.stage.name.value,
        status=stage.status.value,
        reason=stage.reason,
        started=stage.started,
        finished=stage.finished,
        deadline=stage.deadline,
        wave=stage.wave,
        promoted=stage.promoted,
        tasks=tuple(_task(task, group.name) for group in stage.groups for task in group.tasks),
    )


def _task(task: state.TaskState, group: str) -> views.TaskView:
    said = task.progress or state.Progress("")
    return views.TaskView(
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


def _wanted_approval(run: state.Run) -> views.WantedApprovalView | None:
    if run.is_final:
        return None
    group = limits.waiting_group(run)
    if group is None or group.rule is None:
        return None
    return views.WantedApprovalView(
        stage=run.current.id,
        group=group.name,
        needed=group.rule.count,
        given=len(group.approvals),
        approvers=group.rule.approvers,
        expires=group.expires,
    )


def of_plan(shown: preview.Preview) -> views.PlanView:
    """Return what a prepared run would do; it is masked already."""
    return views.PlanView(
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
            views.PlannedStageView(each.name, each.description, each.targets, each.skipped)
            for each in shown.stages
        ),
        clusters=tuple(map(_planned_cluster, shown.targets)),
        warnings=shown.warnings,
        replicas=_all_divided(shown.replicas),
    )


def _all_divided(made: assignment.Assignment) -> tuple[views.DividedReplicasView, ...]:
    return tuple(_divided(each, made) for each in made.workloads)


def _divided(each: assignment.Divided, made: assignment.Assignment) -> views.DividedReplicasView:
    def one(name: str, share: assignment.Share) -> views.ReplicasView:
        read_at = made.read_at.get(name) if name in each.room else None
        return views.ReplicasView(
            name,
            share.replicas,
            share.completions,
            share.least,
            each.room[name] if read_at else None,
            read_at,
        )

    clusters = tuple(one(name, share) for name, share in each.shares.items())
    return views.DividedReplicasView(str(each.key), each.reason, clusters)


def _planned_cluster(each: preview.TargetPreview) -> views.PlannedClusterView:
    return views.PlannedClusterView(
        name=each.target,
        status=each.standing.value,
        created=each.count(preview.Verb.CREATED),
        changed=each.count(preview.Verb.CHANGED),
        pruned=each.count(preview.Verb.PRUNED),
        kept=each.count(preview.Verb.KEPT),
        unchanged=each.unchanged,
        objects=tuple(
            views.PlannedObjectView(
                object=str(item.key),
                action=item.verb.value,
                reason=item.reason,
                differences=tuple(map(preview_json.difference, item.differences)),
                omitted=item.omitted,
            )
            for item in each.objects
        ),
        problems=each.problems,
        silence=each.silence,
        warnings=each.warnings,
    )


def of_event(event: records.FeedEvent) -> views.EventView:
    """Return an event of a feed."""
    return views.EventView(
        position=event.position,
        run=event.run_id,
        application=event.application,
        number=event.number,
        at=event.record.at,
        event=event.record.event,
        document=event.record.document,
    )


def of_line(kept: records.KeptLine) -> views.LogView:
    """Return a line of a log."""
    line = kept.line
    return views.LogView(
        position=kept.position,
        number=kept.number,
        at=line.at,
        stage=line.stage,
        target=line.target,
        attempt=line.attempt,
        level=line.level,
        text=line.text,
    )


def of_finding(kept: records.KeptFinding) -> views.FindingView:
    """Return what an analysis found."""
    found = kept.finding
    return views.FindingView(
        position=kept.position,
        number=kept.number,
        at=found.at,
        stage=found.stage,
        target=found.target,
        attempt=found.attempt,
        kind=found.kind,
        metric=found.metric,
        document=found.document,
    )


def of_commit(kept: records.CommitRecord) -> views.CommitView:
    """Return a commit of an application."""
    return views.CommitView(
        commit=kept.commit,
        seen=kept.seen,
        subject=kept.subject,
        author=kept.author,
        status=kept.status,
        reason=kept.reason,
        run=kept.run_id,
    )


def of_audit(kept: records.AuditRecord) -> views.AuditView:
    """Return an entry of the audit."""
    return views.AuditView(
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
