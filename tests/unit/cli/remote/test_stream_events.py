from datetime import UTC, datetime
from typing import get_args

from volary.cli.remote import queries
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.model import statuses

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = {"at": AT, "run": "r", "number": 3, "stage": "1-K8S_SYNC", "stage_name": "K8S_SYNC"}
TASK = {**STAGE, "target": "us", "attempt": 1}
EVENTS: tuple[feed.RunEvent, ...] = (
    feed.RunStarted(
        at=AT,
        run="r",
        application="a",
        commit="c",
        running_commit="",
        targets=("us",),
        stages=("1-K8S_SYNC",),
    ),
    feed.RunChanged(at=AT, run="r", status=statuses.RunStatus.WAITING, reason="w"),
    feed.RollbackStarted(at=AT, run="r", reason="w", targets=("us",)),
    feed.RequestRefused(at=AT, run="r", reason="w"),
    feed.RunFinished(at=AT, run="r", status=statuses.RunStatus.FAILED, reason="w", touched=("us",)),
    feed.StageStarted(**STAGE, targets=("us",), deadline=AT),  # type: ignore[arg-type]
    feed.StageWaiting(**STAGE, reason="w"),  # type: ignore[arg-type]
    feed.StageFinished(**STAGE, status=statuses.TaskStatus.FAILED, reason="w"),  # type: ignore[arg-type]
    feed.TaskStarted(**TASK, deadline=None),  # type: ignore[arg-type]
    feed.TaskProgressed(**TASK, sentence="s", ready=1, total=2, wanted_weights={"canary": 5}),  # type: ignore[arg-type]
    feed.TaskTraffic(**TASK, wanted_weights={"canary": 5}, observed_weights={}),  # type: ignore[arg-type]
    feed.TaskLogged(**TASK, level=executor.LogLevel.INFO, line="l"),  # type: ignore[arg-type]
    feed.TaskFinding(**TASK, kind="verdict", metric="m", document={"values": [1.5]}),  # type: ignore[arg-type]
    feed.TaskTookOver(**TASK, object="Service default/shop", claimant="PipeCD"),  # type: ignore[arg-type] # by name
    feed.TaskStopping(**TASK, how=state.Stopping.NOW, reason="w"),  # type: ignore[arg-type]
    feed.TaskFinished(**TASK, status=statuses.TaskStatus.SUCCEEDED, reason="w", details=("d",)),  # type: ignore[arg-type]
)


def test_every_event_comes_back_as_it_was() -> None:
    assert [queries.read_event(feed.to_json(each)) for each in EVENTS] == list(EVENTS)


def test_there_is_one_of_every_kind() -> None:
    assert {type(each) for each in EVENTS} == set(get_args(feed.AnyEvent))


def test_what_a_newer_server_says_is_left_out_or_read_as_far_as_it_is_known() -> None:
    newer = {**feed.to_json(EVENTS[1]), "colour": "green"}

    assert queries.read_event({"event": "run-painted"}) is None
    assert queries.read_event({"event": "run-changed", "status": 5}) is None
    assert queries.read_event(newer) == EVENTS[1]
