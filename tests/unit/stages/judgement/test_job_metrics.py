"""Jobs that decide as a metric, beside what else there is in a cluster; in virtual time."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

import memory_client
import stage_contexts
from volary.analysis.metering import meters, query_names
from volary.clusters.api import api_errors, requests
from volary.concurrency import background_tasks
from volary.model import analysis, applications, errors
from volary.model.pipeline import variant
from volary.stages.judgement import job_metrics, metric_jobs

pytestmark = pytest.mark.looptime
JOBS = memory_client.kind("batch", "Job", "jobs")
SPEC = {"template": {"spec": {"containers": [{"name": "check", "image": "check:v1"}]}}}
RULE = analysis.Rule(
    "smoke-test",
    interval=timedelta(minutes=1),
    timeout=timedelta(seconds=60),
    expected=analysis.Range(minimum=1.0),
    job=analysis.MetricJob(SPEC),
)
STAGE = "run-1/3/us"
LABEL = metric_jobs.identity((STAGE, RULE.name, "canary"))
COMPLETE = {"type": "Complete", "status": "True", "reason": "CompletionsReached"}
FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no"}
LATE = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}


@dataclass(eq=False)
class Cluster(memory_client.MemoryCluster):
    """Plays the Job controller: every Job comes to this end after a second; None: to none."""

    end: dict[str, str] | None = None
    log: list[bytes] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)

    async def control(self) -> None:
        while True:
            await asyncio.sleep(1)
            for job in self.jobs():
                if self.end and "status" not in job:
                    self.put(JOBS, {**job, "status": {"conditions": [self.end]}})

    def jobs(self) -> list[dict[str, Any]]:
        return [body for key, body in self.objects.items() if key[0] == JOBS.title]

    async def create(self, *given: Any, **more: Any) -> dict[str, Any]:
        made = await super().create(*given, **more)
        self.created.append(made)
        return made

    async def follow_log(
        self, pod: str, *, namespace: str, wanted: requests.LogRange
    ) -> AsyncGenerator[bytes, None]:
        self._ask("log", "pods", pod)
        for line in self.log:
            yield line


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(resources=[*memory_client.KINDS, JOBS])


def question(at: datetime = stage_contexts.START, **more: Any) -> meters.Question:
    names = query_names.Names(namespace="default", workload="shop")
    application = applications.Application("shop")
    side, role = variant.Variant.CANARY, analysis.Role.JUDGED
    return meters.Question(
        RULE, application, "us", names, side, role, time=at, until=at, run="run-1", **more
    )


async def measure(
    cluster: Cluster, asked: meters.Question | None = None, report: Any = None
) -> analysis.Measurement:
    runner = job_metrics.JobMetrics(
        cluster.client, STAGE, report or stage_contexts.Report(), timedelta(seconds=20)
    )
    async with background_tasks.in_background(cluster.control()):
        return await runner.measure(asked or question())


def failed_pod(job: str, message: str = "") -> dict[str, Any]:
    state = {"terminated": {"exitCode": 3, "finishedAt": "now", "message": message}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "check", "state": state}]}
    return {"metadata": {"name": "check-x", "labels": {"job-name": job}}, "status": status}


async def test_what_succeeds_is_one_and_is_removed(cluster: Cluster) -> None:
    cluster.end = COMPLETE
    measured = await measure(cluster)

    assert (measured.values, measured.message) == ((1.0,), "")
    assert cluster.jobs() == []
    assert len(cluster.created) == 1


@pytest.mark.parametrize(
    ("message", "log", "expected"),
    [
        ("POST /pay: 500", [b"2026-11-28T12:00:00Z other"], "POST /pay: 500"),
        ("", [b"2026-11-28T12:00:00Z first", b"2026-11-28T12:00:01Z last"], "last"),
    ],
)
async def test_what_fails_is_zero_and_says_why(
    cluster: Cluster, message: str, log: list[bytes], expected: str
) -> None:
    cluster.end, cluster.log = FAILED, log
    name = metric_jobs.name(RULE.name, LABEL, stage_contexts.START)
    cluster.put(memory_client.PODS, failed_pod(name, message))
    measured = await measure(cluster)

    assert measured.values == (0.0,)
    assert measured.message == f"container check exited with 3: {expected}"
    assert cluster.jobs() == []


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ("log pods", "container check exited with 3: its log cannot be read (forbidden)"),
        ("list pods", "its pods cannot be read (forbidden)"),
    ],
)
async def test_what_may_not_be_read_hides_no_failure(
    cluster: Cluster, refused: str, expected: str
) -> None:
    cluster.end = FAILED
    name = metric_jobs.name(RULE.name, LABEL, stage_contexts.START)
    cluster.put(memory_client.PODS, failed_pod(name))
    cluster.refusals[refused] = api_errors.Forbidden("forbidden", status=403)
    measured = await measure(cluster)

    assert (measured.values, measured.message) == ((0.0,), expected)


@pytest.mark.parametrize("end", [LATE, None])
async def test_what_nobody_decided_says_nothing(
    cluster: Cluster, end: dict[str, str] | None
) -> None:
    cluster.end = end
    measured = await measure(cluster)

    assert measured.reading is analysis.Reading.ERROR
    assert measured.message.startswith("the Job gave no answer: ")
    assert cluster.jobs() == []


async def test_a_cluster_that_refuses_says_so(cluster: Cluster) -> None:
    cluster.refusals["create jobs"] = api_errors.Refused("the project team-a has no Jobs")

    with pytest.raises(errors.VolaryError, match="the project team-a has no Jobs"):
        await measure(cluster)
    assert cluster.jobs() == []


def left(name: str, label: str, **metadata: str) -> dict[str, Any]:
    labels = {metric_jobs.LABEL: label}
    return {"metadata": {"name": name, "labels": labels, **metadata}, "spec": SPEC}


async def test_the_newest_that_was_left_behind_is_taken_over(cluster: Cluster) -> None:
    cluster.end = COMPLETE
    cluster.put(JOBS, left("older", LABEL, creationTimestamp="2026-03-01T11:00:00Z"))
    cluster.put(JOBS, left("newer", LABEL, creationTimestamp="2026-03-01T11:30:00Z"))
    cluster.put(JOBS, left("other", "0" * 16))
    cluster.put(JOBS, {"metadata": {"name": "plain"}, "spec": SPEC})
    measured = await measure(cluster)

    assert measured.query == "Job default/newer"
    assert measured.values == (1.0,)
    assert cluster.created == []
    assert {job["metadata"]["name"] for job in cluster.jobs()} == {"other", "plain"}


async def test_one_that_is_on_its_way_out_is_not_waited_for(cluster: Cluster) -> None:
    cluster.end = COMPLETE
    leaving = left("leaving", LABEL, deletionTimestamp="2026-03-01T11:30:00Z")
    cluster.put(JOBS, leaving)
    measured = await measure(cluster)

    assert measured.values == (1.0,)
    assert len(cluster.created) == 1
    assert [job["metadata"]["name"] for job in cluster.jobs()] == ["leaving"]


async def test_what_has_the_name_and_is_not_ours_is_left_alone(cluster: Cluster) -> None:
    name = metric_jobs.name(RULE.name, LABEL, stage_contexts.START)
    cluster.put(JOBS, {"metadata": {"name": name}, "spec": SPEC})

    with pytest.raises(errors.VolaryError):
        await measure(cluster)
    assert [job["metadata"]["name"] for job in cluster.jobs()] == [name]


async def test_another_of_the_name_is_not_removed_in_its_place(cluster: Cluster) -> None:
    cluster.end = COMPLETE
    name = metric_jobs.name(RULE.name, LABEL, stage_contexts.START)

    def replace(words: str) -> None:
        if words == f"delete jobs/{name}":
            cluster.remove(JOBS, name)
            cluster.put(JOBS, {"metadata": {"name": name}, "spec": SPEC})

    cluster.before = replace
    report = stage_contexts.Report()
    measured = await measure(cluster, report=report)

    assert measured.values == (1.0,)
    assert [job["metadata"]["name"] for job in cluster.jobs()] == [name]
    assert report.warnings == []


async def test_one_that_cannot_be_removed_is_said_and_counts(cluster: Cluster) -> None:
    cluster.end = COMPLETE
    cluster.refusals["delete jobs"] = api_errors.Forbidden("forbidden", status=403)
    report = stage_contexts.Report()
    measured = await measure(cluster, report=report)

    assert measured.values == (1.0,)
    [job] = cluster.jobs()
    assert report.warnings == [
        f"Job default/{job['metadata']['name']} stays until the cluster removes it: forbidden"
    ]
    assert job["spec"]["ttlSecondsAfterFinished"] == 600


async def test_who_is_broken_off_removes_it(cluster: Cluster) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await measure(cluster)

    assert len(cluster.created) == 1
    assert cluster.jobs() == []


async def test_the_past_cannot_be_run(cluster: Cluster) -> None:
    measured = await measure(cluster, question(is_past=True))

    assert measured.reading is analysis.Reading.ERROR
    assert cluster.asked == []
