"""PipeCD's rules of touching (10.5)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from volary.gitops import triggers
from volary.model import applications

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def decide(changed: list[str], **options: Any) -> triggers.Decision:
    head = triggers.Head("new", "old", changed, "app/demo")
    return triggers.on_commit(applications.Triggers(applications.OnCommit(**options)), head)


@pytest.mark.parametrize(
    ("changed", "options", "reason"),
    [
        (["app/hello.txt", "app/demo/d.yaml"], {}, "app/demo/d.yaml changed"),
        (
            ["app/hello.txt", "app/demo/d.yaml"],
            {"paths": ("charts/*",)},
            "app/demo/d.yaml changed",
        ),
        (["charts/bar/d.yaml"], {"paths": ("charts/bar/*",)}, "charts/bar/d.yaml changed"),
    ],
)
def test_touched(changed: list[str], options: dict[str, object], reason: str) -> None:
    assert decide(changed, **options) == triggers.Decision(True, reason)


@pytest.mark.parametrize(
    ("changed", "options"),
    [
        (["app/demo-2"], {}),
        (["app/hello.txt", "app/demo/d.yaml"], {"ignores": ("*/hello.txt",)}),
        (["charts/bar/d.yaml"], {"paths": ("charts/bar/*",), "ignores": ("charts/**",)}),
        (["app/demo/d.yaml"], {"disabled": True}),
        ([], {}),
    ],
)
def test_not_touched(changed: list[str], options: dict[str, object]) -> None:
    assert not decide(changed, **options).starts


def test_the_first_commit_triggers_and_the_same_one_does_not_again() -> None:
    first = triggers.Head("new", "", [], "app")
    again = triggers.Head("new", "new", [], "app")

    assert triggers.on_commit(applications.Triggers(), first).starts
    assert not triggers.on_commit(applications.Triggers(), again).starts
