"""Rows of tables from records, and back."""

from typing import Any

import sqlalchemy as sa

from volary.model import statuses
from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.schema import tables

Values = dict[str, object]
Row = sa.Row[Any]

HEAD = tuple(
    tables.runs.c[name]
    for name in (
        "id",
        "application",
        "status",
        "reason",
        "commit_hash",
        "running_commit",
        "created",
        "started",
        "finished",
    )
)


def of_head(head: run_records.RunHead) -> Values:
    """Return the columns of a run."""
    return {
        "id": head.id,
        "application": head.application,
        "status": head.status.value,
        "reason": head.reason,
        "commit_hash": head.commit,
        "running_commit": head.running_commit,
        "created": head.created,
        "started": head.started,
        "finished": head.finished,
    }


def to_head(row: Row) -> run_records.RunHead:
    """Read the columns of a run."""
    return run_records.RunHead(
        id=row.id,
        application=row.application,
        status=statuses.RunStatus(row.status),
        reason=row.reason,
        commit=row.commit_hash,
        running_commit=row.running_commit,
        created=row.created,
        started=row.started,
        finished=row.finished,
    )


def of_stage(run_id: str, stage: run_records.StageRecord) -> Values:
    """Return the row of a stage."""
    return {
        "run_id": run_id,
        "id": stage.id,
        "position": stage.position,
        "name": stage.name,
        "status": stage.status.value,
        "reason": stage.reason,
        "started": stage.started,
        "finished": stage.finished,
        "document": stage.document,
    }


def to_stage(row: Row) -> run_records.StageRecord:
    """Read the row of a stage."""
    return run_records.StageRecord(
        id=row.id,
        position=row.position,
        name=row.name,
        status=statuses.TaskStatus(row.status),
        reason=row.reason,
        started=row.started,
        finished=row.finished,
        document=row.document,
    )


def of_task(run_id: str, task: run_records.TaskRecord) -> Values:
    """Return the row of a task."""
    return {
        "run_id": run_id,
        "stage_id": task.stage,
        "target": task.target,
        "position": task.position,
        "status": task.status.value,
        "reason": task.reason,
        "attempt": task.attempt,
        "started": task.started,
        "finished": task.finished,
        "document": task.document,
    }


def to_task(row: Row) -> run_records.TaskRecord:
    """Read the row of a task."""
    return run_records.TaskRecord(
        stage=row.stage_id,
        target=row.target,
        position=row.position,
        status=statuses.TaskStatus(row.status),
        reason=row.reason,
        attempt=row.attempt,
        started=row.started,
        finished=row.finished,
        document=row.document,
    )


def of_event(head: run_records.RunHead, number: int, event: run_records.EventRecord) -> Values:
    """Return the row of a feed's event; its position comes from the database."""
    return {
        "run_id": head.id,
        "application": head.application,
        "number": number,
        "at": event.at,
        "event": event.event,
        "stage_id": event.stage,
        "target": event.target,
        "document": event.document,
    }


def to_event(row: Row) -> records.FeedEvent:
    """Read the row of a feed's event."""
    return records.FeedEvent(
        position=row.position,
        run_id=row.run_id,
        application=row.application,
        number=row.number,
        record=run_records.EventRecord(
            at=row.at,
            event=row.event,
            document=row.document,
            stage=row.stage_id,
            target=row.target,
        ),
    )


def of_approval(run_id: str, approval: run_records.ApprovalRecord) -> Values:
    """Return the row of an approval."""
    return {
        "run_id": run_id,
        "stage_id": approval.stage,
        "group_name": approval.group,
        "actor": approval.by,
        "at": approval.at,
        "approved": approval.approved,
        "comment": approval.comment,
    }


def to_approval(row: Row) -> run_records.ApprovalRecord:
    """Read the row of an approval."""
    return run_records.ApprovalRecord(
        stage=row.stage_id,
        group=row.group_name,
        by=row.actor,
        at=row.at,
        approved=row.approved,
        comment=row.comment,
    )
