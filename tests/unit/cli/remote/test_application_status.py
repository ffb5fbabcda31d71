"""What ``volary get app`` writes."""

from typing import Any

from volary.cli.remote import application_status

HEALTHY = {"status": "healthy", "reason": "2 objects healthy"}
PRIMARY = {
    "name": "primary",
    "commits": ["1" * 40],
    "images": ["registry/shop:v1"],
    "ready": 2,
    "total": 2,
}


def cluster(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "current": True,
        "seen": "2026-01-01T12:00:00Z",
        "unreachableReason": "",
        "unknownSince": None,
        "wanted": True,
        "health": HEALTHY,
        "commits": ["1" * 40],
        "variants": [PRIMARY],
        "ready": 2,
        "total": 2,
        "objects": [],
        "warnings": [],
        "state": "",
        "cordoned": False,
        **more,
    }


NOON = "2026-01-01 12:00:00Z"
SILENT = {
    "current": False,
    "unreachableReason": "no answer",
    "unknownSince": "2026-01-01T12:00:00Z",
}


def shown(*clusters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "shop",
        "health": {"status": "unknown", "reason": "us cannot be seen"},
        "status": "running",
        "reason": "K8S_SYNC on eu",
        "run": "run-1",
        "waitingReason": "an approval of wave 2",
        "problem": "",
        "releases": [{"commit": "1" * 40, "clusters": ["eu"]}],
        "variants": [PRIMARY],
        "ready": 2,
        "total": 2,
        "objects": [
            {
                "kind": "Deployment",
                "namespace": "web",
                "name": "shop",
                "clusters": ["eu"],
                "ready": 2,
                "total": 2,
                "health": {"healthy": 1},
            },
            {
                "kind": "Namespace",
                "namespace": "",
                "name": "web",
                "clusters": ["eu"],
                "ready": 0,
                "total": 0,
                "health": {"progressing": 1},
            },
        ],
        "clusters": list(clusters),
        **more,
    }


def test_the_whole_first_then_what_nobody_can_see_then_the_objects() -> None:
    assert "\n".join(
        application_status.lines(shown(cluster("eu"), cluster("us", **SILENT)), wide=False)
    ) == (
        "shop:       unknown: us cannot be seen\n"
        "server:     running: K8S_SYNC on eu\n"
        "run:        run-1\n"
        "waits:      an approval of wave 2\n"
        "type:       volary explain shop\n"
        "pods:       2 of 2 ready in 1 of 2 clusters\n"
        "release:    1111111 in 1 cluster: eu\n"
        "primary:    2 of 2 ready, shop:v1 (1111111)\n"
        "not seen:   us since 2026-01-01 12:00:00Z: no answer; last known: 1111111, 2 of 2 ready\n"
        "\n"
        "KIND        NAME      CLUSTERS  READY  HEALTH\n"
        "Deployment  web/shop  1         2/2    1 healthy\n"
        "Namespace   web       1         -      1 progressing"
    )


def test_wide_shows_the_clusters_and_says_what_is_only_remembered() -> None:
    gone = cluster("us", **SILENT, state="unreachable", cordoned=True)
    never = cluster("ap", **SILENT, seen=None, commits=[], variants=[], ready=0, total=0)
    warned = cluster("eu", warnings=["services may not be looked at"])
    found = list(application_status.lines(shown(warned, gone, never), wide=True))

    assert "warning:    eu: services may not be looked at" in found
    assert "not seen:   ap since 2026-01-01 12:00:00Z: no answer" in found
    assert [line.split() for line in found[-3:]] == [
        *(
            f"{name} {state} {word} 2/2 1111111 primary shop:v1 {NOON} {reason}".split()
            for name, state, word, reason in (
                ("eu", "-", "healthy", "2 objects healthy"),
                ("us", "unreachable, cordoned", "unknown (was healthy)", "no answer"),
            )
        ),
        ["ap", "-", "unknown", "-", "-", "-", "never", "no", "answer"],
    ]


def test_a_plain_directorys_commit_is_told_from_another() -> None:
    releases = [{"commit": "files-0123456789", "clusters": [str(place) for place in range(7)]}]
    found = list(application_status.lines(shown(releases=releases), wide=False))

    assert "release:    files-0123456 in 7 clusters: 0, 1, 2, 3, 4 and 2 more" in found


def test_what_drifted_is_said_with_what_to_type() -> None:
    drifted = {name: f"Deployment web/{name} is missing" for name in "abcdefg"}
    lines = list(application_status.lines(shown(cluster("eu"), drift=drifted), wide=False))

    assert [line for line in lines if line.startswith("drift:")] == [
        *(f"drift:      {name}: Deployment web/{name} is missing" for name in "abcde"),
        "drift:      2 clusters more; type volary diff shop",
    ]
