"""Faults as values, and what they do to requests."""

import pytest

from kube_sandbox import errors
from kube_sandbox.apiserver.access import request_info
from kube_sandbox.faults import faults

LIST = request_info.read("GET", "/apis/apps/v1/namespaces/shop/deployments", {})
GET = request_info.read("GET", "/apis/apps/v1/namespaces/shop/deployments/web", {})
WATCH = request_info.read("GET", "/api/v1/pods", {"watch": "1"})


def _effect(board: faults.Switchboard, line: request_info.RequestInfo) -> faults.Effect:
    return board.decide(line, has_version=True).effect


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/namespaces", {}, ("list", "", "namespaces", "", "")),
        ("GET", "/api/v1/namespaces/shop", {}, ("get", "", "namespaces", "", "shop")),
        (
            "PUT",
            "/api/v1/namespaces/shop/finalize",
            {},
            ("update", "", "namespaces/finalize", "", "shop"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/shop/pods",
            {},
            ("deletecollection", "", "pods", "shop", ""),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            {},
            ("patch", "apps", "deployments/scale", "shop", "web"),
        ),
        ("GET", "/api/v1/pods", {"watch": "true"}, ("watch", "", "pods", "", "")),
        ("GET", "/version", {}, ("get", "", "", "", "")),
    ],
)
def test_requests_are_read_as_kubernetes_authorises_them(
    method: str, path: str, query: dict[str, str], expected: tuple[str, ...]
) -> None:
    line = request_info.read(method, path, query)

    assert (line.verb, line.group, line.resource, line.namespace, line.name) == expected


def test_nothing_is_wrong_at_first() -> None:
    board = faults.Switchboard()

    assert board.as_json() == {"images": {}}
    assert board.decide(LIST, has_version=False) == faults.Verdict(faults.Effect.PASS)


def test_delays_add_up_for_lists() -> None:
    board = faults.Switchboard()
    board.change({"latency": "200ms", "slowLists": 2})

    assert board.decide(LIST, has_version=False).delay == pytest.approx(2.2)
    assert board.decide(GET, has_version=False).delay == pytest.approx(0.2)


def test_denials_name_verb_and_resource() -> None:
    board = faults.Switchboard()
    board.change({"denied": ["get deployments.apps", "* secrets"]})

    assert _effect(board, GET) is faults.Effect.FORBIDDEN
    assert _effect(board, LIST) is faults.Effect.PASS


def test_errors_come_as_often_as_told() -> None:
    board = faults.Switchboard(seed=1)
    board.change({"errorRate": "30%"})

    seen = [_effect(board, GET) for _ in range(1000)]

    assert 250 < seen.count(faults.Effect.ERROR) < 350


def test_the_same_seed_gives_the_same_errors() -> None:
    boards = [faults.Switchboard(seed=7), faults.Switchboard(seed=7)]
    for board in boards:
        board.change({"errorRate": 0.5})

    first, second = ([_effect(board, GET) for _ in range(50)] for board in boards)

    assert first == second


def test_only_watches_expire() -> None:
    board = faults.Switchboard()
    board.change({"expireWatches": True})

    assert _effect(board, WATCH) is faults.Effect.EXPIRED
    assert _effect(board, LIST) is faults.Effect.PASS


def test_a_lost_cluster_answers_nothing() -> None:
    board = faults.Switchboard()
    board.change({"lost": "refuse", "denied": ["* *"]})

    assert _effect(board, GET) is faults.Effect.BREAK


def test_a_fault_is_switched_off_with_null() -> None:
    board = faults.Switchboard()
    board.change({"latency": "1s", "images": {"shop:v2": "bad"}})
    board.change({"latency": None, "images": {"shop:v2": None}})

    assert board.as_json() == {"images": {}}


@pytest.mark.parametrize(
    "changes",
    [
        {"latncy": "1s"},
        {"latency": "soon"},
        {"lost": "maybe"},
        {"denied": ["deployments"]},
        {"images": {"a": "unheard-of"}},
        {"errorRate": 2},
    ],
)
def test_a_wrong_change_changes_nothing(changes: dict[str, object]) -> None:
    board = faults.Switchboard()

    with pytest.raises(errors.UserError):
        board.change({"retryAfter": 5, **changes})

    assert board.as_json() == {"images": {}}


def test_what_travels_can_be_read_back() -> None:
    board, other = faults.Switchboard(), faults.Switchboard()
    board.change({"latency": 1, "denied": ["get pods"], "lost": "hang", "cutWatches": 3})

    other.change(board.as_json())

    assert other.current == board.current
