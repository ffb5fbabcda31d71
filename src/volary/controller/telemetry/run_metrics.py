"""Runs as metrics for Prometheus: how they ended, how long they took, and what failed.

Without names of applications and clusters: who may see numbers may not see all, and a label for
each of a thousand would be a burden for whoever stores them.
"""

from datetime import timedelta
from enum import StrEnum

from volary.engine.runs import state
from volary.model import statuses

_MINUTE = 60.0
_HOUR = 60 * _MINUTE
#: Seconds; from a quick sync to a bake of days.
_LONG = (5, 15, _MINUTE, 3 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 4 * _HOUR, 24 * _HOUR)
_SHORT = (0.5, 2, 5, 15, _MINUTE, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR)


class FailureClass(StrEnum):
    """Why a stage did not succeed on a cluster."""

    #: The cluster did not answer.
    UNREACHABLE = "unreachable"
    #: An analysis or a gate said no.
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    #: Another cluster failed, or somebody cancelled.
    CANCELLED = "cancelled"
    #: Anything else: what the reason of the task says.
    FAILED = "failed"


def failure_class(task: state.TaskState) -> FailureClass | None:
    """Return why a task that has ended did not succeed; None: it did, or was left out."""
    match task.status:
        case statuses.TaskStatus.UNREACHABLE:
            return FailureClass.UNREACHABLE
        case statuses.TaskStatus.CANCELLED:
            return FailureClass.CANCELLED
        case statuses.TaskStatus.FAILED | statuses.TaskStatus.ROLLED_BACK:
            if task.stop_cause is state.StopCause.TIMEOUT:
                return FailureClass.TIMED_OUT
            return FailureClass.REFUSED if task.refused else FailureClass.FAILED
    return None


class RunMetrics:
    """Counts runs; one for a process.

    What another process counted before is not in it, as Prometheus expects of a restart.
    """

    def __init__(self) -> None:
        import prometheus_client as prometheus  # with a server of HTTP; a run by hand has none

        self.registry = prometheus.CollectorRegistry()
        self._waited = prometheus.Histogram(
            "volary_run_wait_seconds",
            "From the request of a run until it begins, by kind.",
            ("kind",),
            registry=self.registry,
            buckets=_SHORT,
        )
        self._runs = prometheus.Histogram(
            "volary_run_seconds",
            "From the beginning of a run to its end, by kind and how it ended.",
            ("kind", "status"),
            registry=self.registry,
            buckets=_LONG,
        )
        self._stages = prometheus.Histogram(
            "volary_stage_seconds",
            "From the beginning of a stage to its end on all clusters, by how it ended.",
            ("stage", "status"),
            registry=self.registry,
            buckets=_LONG,
        )
        self._failures = prometheus.Counter(
            "volary_task_failures",
            "Stages that did not succeed on a cluster, by why.",
            ("stage", "reason"),
            registry=self.registry,
        )

    def begun(self, kind: str, waited: timedelta) -> None:
        """Count a run that begins, which was requested so long ago."""
        self._waited.labels(kind).observe(max(0.0, waited.total_seconds()))

    def ended(self, kind: str, run: state.Run) -> None:
        """Count a run that has ended, with its stages."""
        if run.started is not None and run.finished is not None:
            seconds = (run.finished - run.started).total_seconds()
            self._runs.labels(kind, run.status.value).observe(max(0.0, seconds))
        for stage in run.all_stages:
            name = stage.stage.name
            if stage.started is not None and stage.finished is not None:
                seconds = (stage.finished - stage.started).total_seconds()
                self._stages.labels(name, stage.status.value).observe(max(0.0, seconds))
            for task in stage.tasks:
                if (reason := failure_class(task)) is not None:
                    self._failures.labels(name, reason.value).inc()
