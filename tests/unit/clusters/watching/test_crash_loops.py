"""Crash loops of the newest revision, and of no other, are evidence."""

import copy
from typing import Any

import pytest

from volary.clusters.watching import crash_loops
from volary.model import json

TEMPLATE: json.JsonObject = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"config": "1"}},
    "spec": {
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "main",
                "image": "web:v2",
                "env": [{"name": "MODE", "value": "new"}],
                "resources": {"limits": {"memory": "64Mi"}},
                "volumeMounts": [{"name": "files", "mountPath": "/files"}],
            }
        ],
        "volumes": [{"name": "files", "configMap": {"name": "files-2"}}],
    },
}


def workload(kind: str = "Deployment", **status: object) -> json.JsonObject:
    return {"kind": kind, "spec": {"template": TEMPLATE}, "status": status}


def pod(*path: str | int, count: int = 3, waits: str = "CrashLoopBackOff", **to: Any) -> Any:
    """Return a pod as the cluster makes it of the template, changed at `path`."""
    made = copy.deepcopy(TEMPLATE)
    made["metadata"]["uid"] = "1"
    made["metadata"]["labels"]["pod-template-hash"] = "abc"
    main = made["spec"]["containers"][0]
    main["volumeMounts"].append({"name": "token", "mountPath": "/var/run/secrets"})
    made["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"})
    made["spec"] |= {"nodeName": "a", "serviceAccountName": "default", "tolerations": [{}]}
    made["spec"]["volumes"].append({"name": "token"})
    state = {"waiting": {"reason": waits}}
    last = {"terminated": {"exitCode": 7}}
    status = {"name": "main", "restartCount": count, "state": state, "lastState": last}
    made["status"] = {"containerStatuses": [status]}
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    if path:
        place[path[-1]] = to["to"]
    return made


MAIN = ("spec", "containers", 0)


@pytest.mark.parametrize(
    ("body", "before", "is_evidence"),
    [
        (pod(), {}, True),
        (pod(count=2), {}, False),
        (pod(count=9), {("1", "main"): 6}, True),
        (pod(count=8), {("1", "main"): 6}, False),
        (pod(count=9), {("2", "main"): 6}, True),
        (pod(waits="ContainerCreating"), {}, False),
        (pod(*MAIN, "image", to="web:v1"), {}, False),
        (pod(*MAIN, "env", to=[]), {}, False),
        (pod(*MAIN, "args", to=["--gone"]), {}, False),
        (pod(*MAIN, "resources", to={"limits": {"memory": "32Mi"}}), {}, False),
        (pod(*MAIN, "volumeMounts", to=[]), {}, False),
        (pod(*MAIN, "imagePullPolicy", to="Always"), {}, True),
        (pod("spec", "volumes", to=[]), {}, False),
        (pod("spec", "serviceAccountName", to="other"), {}, False),
        (pod("spec", "hostNetwork", to=True), {}, False),
        (pod("metadata", "annotations", to={"config": "0"}), {}, False),
        (pod("metadata", "annotations", to={"config": "1", "more": ""}), {}, True),
    ],
)
def test_what_is_evidence(
    body: json.JsonObject, before: crash_loops.Restarts, is_evidence: bool
) -> None:
    told = crash_loops.find(workload(), body, before)

    assert bool(told) is is_evidence
    if told:
        assert told.startswith("container main crashes: started again ")
        assert told.endswith(" times, last with exit code 7")


def test_a_stateful_set_says_itself_which_revision_is_the_newest() -> None:
    """Also where something changes pods after their template."""
    changed = pod(*MAIN, "image", to="registry.example.org/web:v2")
    changed["metadata"]["labels"]["controller-revision-hash"] = "web-2"

    assert crash_loops.find(workload("StatefulSet", updateRevision="web-2"), changed, {})
    assert not crash_loops.find(workload("StatefulSet", updateRevision="web-3"), changed, {})


def test_how_often_each_container_was_started_again() -> None:
    assert crash_loops.restarts([pod(count=4)]) == {("1", "main"): 4}
