"""What ``volary diff`` writes."""

from typing import Any

from volary.cli.remote import drift

OWNER = {"manager": "kubectl", "operation": "Update", "since": "2026-01-01T12:00:00Z"}
FIELD = {
    "path": "spec.replicas",
    "wanted": 3,
    "live": 5,
    "sides": "both",
    "owners": [OWNER],
}


def item(how: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "group": "apps",
        "kind": "Deployment",
        "namespace": "web",
        "name": "shop",
        "drift": how,
        "since": None,
        "reason": "Git has it, and the cluster lacks it",
        "differences": list(fields),
        "omitted": 0,
        **more,
    }


def cluster(name: str, status: str, *objects: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "status": status,
        "reason": f"why {name}",
        "compared": None,
        "objects": list(objects),
    }


def lines(*clusters: dict[str, Any], **more: Any) -> list[str]:
    document = {
        "application": "shop",
        "commit": "c" * 40,
        "mode": "report",
        "status": "outOfSync",
        "reason": "us: it drifted",
        "since": "2026-01-01T12:00:00Z",
        "repairAfter": None,
        "clusters": list(clusters),
        **more,
    }
    return list(drift.lines(document))


def test_the_worst_cluster_comes_first_and_each_side_has_its_sign() -> None:
    gone = {**FIELD, "path": "spec.paused", "live": None, "sides": "wanted", "owners": []}
    more = {**FIELD, "path": "data[a.b]", "wanted": None, "sides": "live", "live": "x"}
    shown = lines(
        cluster("eu", "inSync"),
        cluster("ap", "unknown"),
        cluster("us", "outOfSync", item("differs", FIELD, gone, more, omitted=2)),
    )

    assert shown == [
        "shop ccccccc: out of sync since 2026-01-01T12:00:00Z",
        "  us: it drifted",
        "us: out of sync",
        "  ~ differs Deployment web/shop",
        "      @@ spec.replicas @@ kubectl, 2026-01-01T12:00:00Z",
        "      -5",
        "      +3",
        "      @@ spec.paused @@",
        "      +3",
        "      @@ data[a.b] @@ kubectl, 2026-01-01T12:00:00Z",
        "      -x",
        "      … 2 more fields differ",
        "ap: unknown: why ap",
        "eu: in sync: why eu",
    ]


def test_missing_objects_and_extra_ones_have_a_reason() -> None:
    shown = lines(cluster("us", "outOfSync", item("missing"), item("extra", reason="not in Git")))

    assert shown[-2:] == [
        "  + missing Deployment web/shop (Git has it, and the cluster lacks it)",
        "  - extra Deployment web/shop (not in Git)",
    ]


def test_when_it_is_repaired_is_said() -> None:
    shown = lines(cluster("us", "outOfSync"), repairAfter="2026-01-01T12:05:00Z")

    assert "  repaired at 2026-01-01T12:05:00Z, unless it is gone before" in shown


def test_what_steers_terminals_is_not_written() -> None:
    evil = "\x1b[2J"
    field = {**FIELD, "path": evil, "live": evil, "owners": [{**OWNER, "manager": evil}]}
    shown = lines(cluster("us", "outOfSync", item("differs", field, name=evil)), reason=evil)

    assert evil not in "".join(shown)


def test_many_lines_are_counted() -> None:
    shown = lines(cluster("us", "outOfSync", item("differs", *[FIELD] * 50)))

    assert len(shown) < 70
    assert shown[-1] == "      … 90 more lines"
