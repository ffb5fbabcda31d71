"""Jobs that decide as a metric: what is run, and what their end says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volary.config.stages import query_placeholders
from volary.stages.judgement import metric_jobs

AT = datetime(2026, 11, 28, 12, tzinfo=UTC)
VALUES = query_placeholders.Values(
    application="shop",
    variant="canary",
    namespace="web",
    workload="shop-canary",
    primary="shop",
    cluster="eu",
    interval=timedelta(minutes=5),
    metric="smoke-test",
    run="run-1",
)


def made(spec: dict[str, Any], timeout: float = 90.5) -> dict[str, Any]:
    limit = timedelta(seconds=timeout)
    return metric_jobs.make(spec, VALUES, called="volary-x", label="0" * 16, timeout=limit)


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": spec}}


def test_what_is_written_is_run_and_bounded() -> None:
    container = {"name": "check", "image": "check:v1", "args": ["$(VOLARY_SERVICE)"]}
    job = made(
        {**pod({"containers": [container], "serviceAccountName": "check"}), "completions": 2}
    )

    assert job["metadata"]["namespace"] == "web"
    assert job["metadata"]["labels"] == {metric_jobs.LABEL: "0" * 16}
    spec = job["spec"]
    bounds = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "completions")
    assert [spec[name] for name in bounds] == [0, 91, 600, 2]
    written = spec["template"]["spec"]
    assert (written["restartPolicy"], written["serviceAccountName"]) == ("Never", "check")
    assert {**written["containers"][0], "env": None} == {**container, "env": None}
    told = {each["name"]: each["value"] for each in written["containers"][0]["env"]}
    assert told["VOLARY_VARIANT"] == "canary"
    assert (told["VOLARY_INTERVAL"], told["VOLARY_RUN"], told["VOLARY_SERVICE"]) == (
        *("5m", "run-1", ""),
    )
    assert "env" not in container, "what was written is left as it is"


def test_own_words_count_up_to_the_bounds() -> None:
    own = [{"name": "VOLARY_CLUSTER", "value": "mine"}, {"name": "A", "value": "$(VOLARY_RUN)"}]
    spec = {
        **pod({"containers": [{"name": "a", "env": own}], "restartPolicy": "OnFailure"}),
        "backoffLimit": 3,
        "activeDeadlineSeconds": 30,
        "ttlSecondsAfterFinished": 86_400,
    }
    job = made(spec)["spec"]

    bounds = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    assert [job[name] for name in bounds] == [3, 30, 600]
    assert job["template"]["spec"]["restartPolicy"] == "OnFailure"
    environment = job["template"]["spec"]["containers"][0]["env"]
    assert environment[-2:] == own, "so that they can refer to ours"
    assert [each["name"] for each in environment].count("VOLARY_CLUSTER") == 1


@pytest.mark.parametrize("metric", ["smoke-test", "Ä b/c.d" * 20, "---", "x" * 300])
def test_a_name_is_one_of_kubernetes_and_of_its_look(metric: str) -> None:
    label = metric_jobs.identity(("run/3/eu", metric, "canary"))
    first, second = (
        metric_jobs.name(metric, label, AT + timedelta(minutes=minutes)) for minutes in (0, 1)
    )

    assert first != second
    assert len(first) <= 63
    assert first.replace("-", "").isalnum()
    assert first.isascii()
    assert first.islower()
    assert label == metric_jobs.identity(("run/3/eu", metric, "canary"))
    assert label != metric_jobs.identity(("run/3", f"eu{metric}", "canary"))


def ended(kind: str, reason: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": "True", "reason": reason}]}}


def test_a_container_decides_and_a_limit_does_not() -> None:
    assert metric_jobs.has_failed(ended("Failed", "BackoffLimitExceeded"))
    assert metric_jobs.has_failed(ended("Failed", "PodFailurePolicy"))
    assert not metric_jobs.has_failed(ended("Failed", "DeadlineExceeded"))
    assert not metric_jobs.has_failed(ended("Complete", "CompletionsReached"))
    assert not metric_jobs.has_failed({})


def test_what_is_not_ours_is_nobodys() -> None:
    labels = {metric_jobs.LABEL: "a" * 16}

    assert metric_jobs.is_ours({"metadata": {"labels": labels}}, "a" * 16)
    assert not metric_jobs.is_ours({"metadata": {"labels": labels}}, "b" * 16)
    assert not metric_jobs.is_ours({"metadata": {"name": "volary-x"}}, "a" * 16)
    leaving = {"labels": labels, "deletionTimestamp": "2026-11-28T12:00:00Z"}
    assert not metric_jobs.is_ours({"metadata": leaving}, "a" * 16)


def failed(name: str, finished: str, code: int, message: str = "") -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "finishedAt": finished, "message": message}}
    status = {"name": "check", "state": state}
    return {"metadata": {"name": name}, "status": {"containerStatuses": [status]}}


def test_the_container_that_failed_last_explains_it() -> None:
    pods = [
        failed("b", "2026-11-28T12:00:09Z", 3, "too slow"),
        failed("a", "2026-11-28T12:00:01Z", 1),
        failed("c", "2026-11-28T12:00:10Z", 0),
        {"metadata": {"name": "d"}},
    ]

    assert metric_jobs.failed_container(pods) == ("b", "check", 3, "too slow")
    assert metric_jobs.failed_container([]) is None


def test_the_last_line_of_a_log_is_shown_on_one_line() -> None:
    log = [
        b"2026-11-28T12:00:00Z first\n",
        b"2026-11-28T12:00:01Z \x1b[31m500\x1b[0m /pay\n",
        b"\n",
    ]

    assert metric_jobs.last_line(log) == "\ufffd[31m500\ufffd[0m /pay"
    assert metric_jobs.last_line([]) == ""
    assert metric_jobs.shorten("a\n b\r\nc") == "a b c"
    assert len(metric_jobs.shorten("x" * 10_000)) < 210
