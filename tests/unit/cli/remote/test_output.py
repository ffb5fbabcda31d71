"""Lists that a server gave, as text."""

import json
import re
from typing import Any

import pytest

from volary.cli import forms
from volary.cli.remote import output

CORDONED: dict[str, Any] = {
    "name": "eu",
    "status": "ready",
    "reason": "",
    "since": "2026-11-21T16:37:11.049859Z",
    "taints": [
        {
            "key": "volary.dev/cordoned",
            "value": "",
            "effect": "NoSchedule",
            "since": "2026-11-21T16:37:34.995258Z",
            "by": "ana",
            "reason": "Kubernetes 1.36",
        }
    ],
}


def test_a_list_of_clusters_says_for_how_long_and_who_keeps_work_away(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.show_list("clusters", [CORDONED], forms.Form.TEXT)
    _, row = capsys.readouterr().out.splitlines()
    output.show_list("clusters", [CORDONED], forms.Form.JSON)
    plain = json.loads(capsys.readouterr().out)

    assert re.fullmatch(
        r"eu +ready +\d+[smhd]\w* +- +- +- +volary\S+ +cordoned by ana: .*1\.36", row
    )
    assert plain == [CORDONED]


def test_a_lost_cluster_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    lost = {**CORDONED, "status": "unreachable", "reason": "no answer in time"}
    mark = {"key": "volary.dev/unreachable", "effect": "NoSchedule", "by": "volary"}
    lost["taints"] = [{**mark, "value": "", "since": None, "reason": "no answer in time"}]

    output.show_list("clusters", [lost], forms.Form.TEXT)

    assert capsys.readouterr().out.count("no answer in time") == 1


def test_a_list_of_applications_says_what_the_next_run_waits_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paused: dict[str, Any] = {"name": "shop", "status": "waiting", "reason": "a file changed"}
    paused["paused"] = "paused by ana: lunch"
    paused["waiting"] = {"waitingReason": "the application is paused by ana: lunch"}
    idle = {**paused, "status": "synced", "waiting": None}

    output.show_list("apps", [paused, idle], forms.Form.TEXT)
    _, first, second = capsys.readouterr().out.splitlines()

    assert first.endswith("a file changed; the application is paused by ana: lunch")
    assert second.endswith("a file changed; paused by ana: lunch")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ({}, "synced"),
        ({"eu": "it is unreachable"}, "synced except eu"),
        (dict.fromkeys(("eu", "us", "asia"), "it is unreachable"), "synced except 3 clusters"),
    ],
)
def test_who_misses_the_release_is_no_small_print(
    capsys: pytest.CaptureFixture[str], missing: dict[str, str], said: str
) -> None:
    one: dict[str, Any] = {"name": "shop", "status": "synced", "reason": "done", "missing": missing}

    output.show_list("apps", [one, {**one, "status": "failed"}], forms.Form.TEXT)
    _, first, second = capsys.readouterr().out.splitlines()

    assert f"  {said}  " in first
    assert "  failed  " in second


def test_the_stages_of_a_run_in_waves_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    names = "id application status reason commit runningCommit subject by trigger finished"
    said = dict.fromkeys(("plan", "waitingReason", "whatNext", "ifFailed", "move", "unfrozen"), "")
    stage: dict[str, Any] = {"name": "K8S_SYNC", "status": "succeeded", "tasks": []}
    stages = [{**stage, "wave": "first"}, {**stage, "wave": ""}, stage]
    run = {"summary": dict.fromkeys(names.split(), ""), **said, "stages": stages, "replicas": []}
    output.describe_run({**run, "rollback": None, "approvals": []})

    assert capsys.readouterr().out.splitlines()[-3:] == [
        "K8S_SYNC in wave first  succeeded",
        "K8S_SYNC  succeeded",
        "K8S_SYNC  succeeded",
    ]


def test_a_run_names_the_workload_that_is_divided_as_people_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = "id application status reason commit runningCommit subject by trigger finished"
    told_of = dict.fromkeys(names.split(), "")
    replicas = [
        {"workload": "apps:Deployment::div", "reason": "by weight"},
        {"workload": "apps:StatefulSet:shop:db", "reason": "by weight"},
    ]
    said = dict.fromkeys(("plan", "waitingReason", "whatNext", "ifFailed", "move", "unfrozen"), "")
    lists: dict[str, Any] = {"replicas": replicas, "stages": [], "rollback": None, "approvals": []}
    output.describe_run({"summary": told_of, **said, **lists})

    told = capsys.readouterr().out
    assert "Deployment div: by weight" in told
    assert "StatefulSet shop/db: by weight" in told


def test_a_run_says_what_moves_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    told_of = dict.fromkeys(("status", "reason", "by", "trigger", "finished"), "")
    said = dict.fromkeys(("plan", "waitingReason", "whatNext", "ifFailed"), "")
    output.explain_run({"summary": told_of, **said, "move": "eu: eu is flooded; it is interrupted"})

    assert "move:          eu: eu is flooded; it is interrupted" in capsys.readouterr().out


def test_a_list_says_why_a_run_takes_so_long_and_how_to_find_out_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not only why it began, and each sentence once."""
    silent = "cluster eu did not answer"
    apps: list[dict[str, Any]] = [
        {"name": "done", "status": "synced", "reason": "every stage is done"},
        {
            "name": "shop",
            "status": "running",
            "reason": "a file changed",
            "cause": "eu: it crashes",
        },
        {
            "name": "web",
            "status": "waiting",
            "reason": silent,
            "waiting": {"waitingReason": silent},
        },
    ]

    output.show_list("apps", apps, forms.Form.TEXT)
    shown = capsys.readouterr()
    output.show_list("apps", apps[:1], forms.Form.TEXT)

    _, _, shop, web = shown.out.splitlines()
    assert (shop.split("  ")[-1], web.split("  ")[-1]) == ("eu: it crashes", silent)
    assert shown.err == "type volary explain shop (and 1 more): why, and what can be done\n"
    assert capsys.readouterr().err == ""


def test_a_run_says_each_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    names = "id application status reason commit runningCommit subject by trigger finished"
    said = dict.fromkeys(("plan", "waitingReason", "whatNext", "ifFailed", "move", "unfrozen"), "")

    def task(target: str, status: str, reason: str, attempt: int = 0) -> dict[str, Any]:
        words = {"target": target, "status": status, "reason": reason}
        return {**words, "progress": "", "attempt": attempt}

    crash = "container web crashes"
    canary = [task("us", "succeeded", "1 of 1 ready", 1), task("eu", "failed", crash, 1)]
    after = [task(name, "cancelled", f"not started: CANARY failed: eu: {crash}") for name in "ab"]
    run = {"summary": dict.fromkeys(names.split(), ""), **said, "replicas": [], "approvals": []}
    stages = [
        {"name": "CANARY", "status": "failed", "tasks": canary},
        {"name": "SYNC", "status": "cancelled", "tasks": after},
    ]
    output.describe_run({**run, "stages": stages, "rollback": None})

    assert capsys.readouterr().out.splitlines()[-5:] == [
        "CANARY  failed",
        "  us  succeeded  1 of 1 ready",
        f"  eu  failed  {crash}",
        "SYNC  cancelled",
        "  a and b  cancelled  not started: CANARY failed: eu",
    ]


def test_a_list_of_clusters_says_what_they_are_made_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    room = {"pods": 110, "cpu": 8.0, "memory": 2**34}
    facts = {"version": "v1.36.0", "capacity": room, "free": {**room, "pods": 12, "cpu": 3.25}}
    counted = {**CORDONED, "facts": facts, "applications": 7}
    output.show_list("clusters", [counted], forms.Form.WIDE)
    _, row = capsys.readouterr().out.splitlines()
    unknown = {**counted, "facts": {**facts, "free": None}}
    output.show_list("clusters", [unknown], forms.Form.WIDE)
    _, less = capsys.readouterr().out.splitlines()

    assert "v1.36.0  7     12 of 110 pods, 3.2 of 8 cores, 16 of 16 GiB" in row
    assert "? of 110 pods, ? of 8 cores, ? of 16 GiB" in less
