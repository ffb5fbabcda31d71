"""The columns of workloads: Deployments and what else makes pods."""

from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.apiserver.printing import cells, durations, pods


def _of(field: str) -> cells.Column:
    heading = {
        "updatedReplicas": "Up-to-date",
        "availableReplicas": "Available",
        "replicas": "Current",
        "readyReplicas": "Ready",
        "desiredNumberScheduled": "Desired",
        "currentNumberScheduled": "Current",
        "numberReady": "Ready",
        "updatedNumberScheduled": "Up-to-date",
        "numberAvailable": "Available",
    }[field]
    return cells.number(heading, lambda obj: objects.count(obj, field))


def _ready(obj: json.JsonObject) -> str:
    return f"{objects.count(obj, 'readyReplicas')}/{objects.replicas(obj)}"


def _job_status(job: json.JsonObject) -> str:
    listed = objects.status(job).get("conditions") or ()
    for kind, word in (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if conditions.is_true(listed, kind):
            return word
    return "Terminating" if objects.is_deleting(job) else "Running"


def _completions(job: json.JsonObject) -> str:
    done, wanted = objects.count(job, "succeeded"), objects.spec(job).get("completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = int(objects.spec(job).get("parallelism") or 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(job: json.JsonObject, now: datetime) -> str:
    started, ended = (
        objects.status(job).get("startTime"),
        objects.status(job).get("completionTime"),
    )
    if not started:
        return ""
    until = datetime.fromisoformat(ended) if ended else now
    return durations.age(started, until)


def _last_schedule(job: json.JsonObject, now: datetime) -> str:
    last = objects.status(job).get("lastScheduleTime")
    return durations.age(last, now) if last else cells.NONE


def _owner(revision: json.JsonObject) -> str:
    reference = objects.controller(revision)
    if reference is None:
        return cells.NONE
    group = str(reference["apiVersion"]).partition("/")[0]
    kind = str(reference["kind"]).lower()
    return f"{kind}.{group}/{reference['name']}"


def _job_containers(obj: json.JsonObject) -> list[json.JsonObject]:
    template = (objects.spec(obj).get("jobTemplate") or {}).get("spec") or {}
    return cells.template_containers({"spec": template})


_WIDE = (cells.CONTAINERS, cells.IMAGES, cells.SELECTOR)

COLUMNS: dict[tuple[str, str], tuple[cells.Column, ...]] = {
    ("", "Pod"): pods.COLUMNS,
    ("apps", "Deployment"): (
        cells.NAME,
        cells.column("Ready", _ready),
        _of("updatedReplicas"),
        _of("availableReplicas"),
        cells.AGE,
        *_WIDE,
    ),
    ("apps", "ReplicaSet"): (
        cells.NAME,
        cells.number("Desired", objects.replicas),
        _of("replicas"),
        _of("readyReplicas"),
        cells.AGE,
        *_WIDE,
    ),
    ("", "ReplicationController"): (
        cells.NAME,
        cells.number("Desired", objects.replicas),
        _of("replicas"),
        _of("readyReplicas"),
        cells.AGE,
        *_WIDE,
    ),
    ("apps", "StatefulSet"): (
        cells.NAME,
        cells.column("Ready", _ready),
        cells.AGE,
        cells.CONTAINERS,
        cells.IMAGES,
    ),
    ("apps", "DaemonSet"): (
        cells.NAME,
        _of("desiredNumberScheduled"),
        _of("currentNumberScheduled"),
        _of("numberReady"),
        _of("updatedNumberScheduled"),
        _of("numberAvailable"),
        cells.column(
            "Node Selector",
            lambda obj: cells.labels(
                ((objects.spec(obj).get("template") or {}).get("spec") or {}).get("nodeSelector")
            ),
        ),
        cells.AGE,
        *_WIDE,
    ),
    ("apps", "ControllerRevision"): (
        cells.NAME,
        cells.column("Controller", _owner),
        cells.number("Revision", lambda obj: int(obj.get("revision") or 0)),
        cells.AGE,
    ),
    ("batch", "Job"): (
        cells.NAME,
        cells.column("Status", _job_status),
        cells.column("Completions", _completions),
        cells.Column("Duration", _duration),
        cells.AGE,
        *_WIDE,
    ),
    ("batch", "CronJob"): (
        cells.NAME,
        cells.column("Schedule", lambda obj: str(objects.spec(obj).get("schedule", ""))),
        cells.column("Timezone", lambda obj: objects.spec(obj).get("timeZone") or cells.NONE),
        cells.column(
            "Suspend", lambda obj: "True" if objects.spec(obj).get("suspend") else "False"
        ),
        cells.number("Active", lambda obj: len(objects.status(obj).get("active") or ())),
        cells.Column("Last Schedule", _last_schedule),
        cells.AGE,
        cells.column(
            "Containers",
            lambda obj: cells.joined([str(each["name"]) for each in _job_containers(obj)]),
            wide=True,
        ),
        cells.column(
            "Images",
            lambda obj: cells.joined([str(each.get("image")) for each in _job_containers(obj)]),
            wide=True,
        ),
        cells.column("Selector", lambda _: cells.NONE, wide=True),
    ),
}
