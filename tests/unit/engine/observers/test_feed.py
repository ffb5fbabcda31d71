"""The feed's JSON form, which scripts read."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

from volary.engine.observers import feed
from volary.engine.runs import state
from volary.model.statuses import TaskStatus

AT = datetime(2026, 1, 1, 14, 30, tzinfo=timezone(timedelta(hours=2)))


def test_an_event_becomes_one_flat_json_object() -> None:
    event = feed.TaskProgressed(
        number=7,
        at=AT,
        run="run-1",
        stage="3-K8S_TRAFFIC_ROUTING",
        stage_name="K8S_TRAFFIC_ROUTING",
        target="eu",
        attempt=1,
        sentence="routes read back",
        ready=1,
        total=2,
        wanted_weights={"primary": 80, "canary": 20},
    )

    body = feed.to_json(event)

    assert json.loads(json.dumps(body)) == {
        "event": "task-progressed",
        "number": 7,
        "at": "2026-01-01T12:30:00Z",
        "run": "run-1",
        "stage": "3-K8S_TRAFFIC_ROUTING",
        "stageName": "K8S_TRAFFIC_ROUTING",
        "target": "eu",
        "attempt": 1,
        "sentence": "routes read back",
        "ready": 1,
        "total": 2,
        "wantedWeights": {"primary": 80, "canary": 20},
        "observedWeights": {},
    }


def test_words_lists_and_missing_times_are_plain() -> None:
    common = {"at": AT.astimezone(UTC), "run": "r", "stage": "s", "stage_name": "S"}
    finished = feed.TaskFinished(
        **common,  # type: ignore[arg-type]
        target="us",
        attempt=1,
        status=TaskStatus.FAILED,
        reason="boom",
        details=("a", "b"),
    )
    stopping = feed.TaskStopping(
        **common,  # type: ignore[arg-type]
        target="us",
        attempt=1,
        how=state.Stopping.NOW,
        reason="x",
    )
    started = feed.StageStarted(**common, targets=("us",), deadline=None)  # type: ignore[arg-type]

    assert json.loads(json.dumps(feed.to_json(finished)))["details"] == ["a", "b"]
    assert feed.to_json(finished)["status"] == "failed"
    assert type(feed.to_json(stopping)["how"]) is str
    assert feed.to_json(started)["deadline"] is None


def test_every_event_has_its_own_name() -> None:
    def leaves(kind: type[feed.RunEvent]) -> list[type[feed.RunEvent]]:
        below = [leaf for each in kind.__subclasses__() for leaf in leaves(each)]
        return below or [kind]

    kinds = leaves(feed.RunEvent)

    assert set(kinds) == set(get_args(feed.AnyEvent))
    assert len({kind.__struct_config__.tag for kind in kinds}) == 16
