"""What ``volary placement`` writes."""

from typing import Any

from volary.cli.remote import output


def test_evidence_is_given_once() -> None:
    found: dict[str, Any] = {
        "clusters": ["us"],
        "leaving": [{"cluster": "eu", "replaced": True, "reason": "eu was flooded"}],
        "away": [
            {"cluster": "eu", "reason": "eu was flooded"},
            {"cluster": "sa", "reason": "sa was drained"},
        ],
        "waiting": [
            {"cluster": "eu", "reason": "eu was flooded; cleaned up once it answers again"},
            {"cluster": "us", "reason": "seen for 3 s so far"},
        ],
    }

    assert list(output.placement_lines(found)) == [
        "on us",
        "leaving eu (replaced): eu was flooded",
        "away from eu until a rebalance",
        "away from sa until a rebalance: sa was drained",
        "waiting, eu: cleaned up once it answers again",
        "waiting, us: seen for 3 s so far",
    ]


def test_an_application_that_is_nowhere_is_said_to_be() -> None:
    found: dict[str, Any] = {"clusters": [], "leaving": [], "away": [], "waiting": []}

    assert list(output.placement_lines(found)) == ["on no cluster"]
