"""What tasks say is sent together, in order, and again where it may not have been kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from volary.agents.tasks import reports, services
from volary.engine import executor
from volary.engine.observers import feed
from volary.model import errors

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Server:
    """Keeps what it is told, but for what it does not know."""

    sent: list[services.Report] = field(default_factory=list)
    is_away: bool = False
    requests: int = 0

    async def report(self, told: Sequence[services.Report]) -> Sequence[str]:
        self.requests += 1
        if self.is_away:
            raise errors.TemporaryError("away")
        if any(one.run == "broken" for one in told):
            raise errors.PermanentError("not of its shape")
        self.sent += told
        return ["there is no such run" if one.run == "unknown" else "" for one in told]


def saying(run: str, *lines: str) -> reports.RunReports:
    made = reports.RunReports(run)
    for line in lines:
        made.notify(
            feed.TaskLogged(
                at=START,
                run=run,
                stage="0-K8S_SYNC",
                stage_name="K8S_SYNC",
                target="us",
                attempt=1,
                level=executor.LogLevel.INFO,
                line=line,
            )
        )
    return made


def texts(report: services.Report) -> list[str]:
    return [item.line for item in report.said if isinstance(item, feed.TaskLogged)]


async def test_what_all_runs_say_goes_with_one_request() -> None:
    server, runs = Server(), [saying("a", "1", "2"), saying("b"), saying("unknown", "3")]
    sender = reports.Reports(cast("services.Services", server), lambda: runs)

    await sender.flush()
    await sender.flush()

    assert [(one.run, texts(one), one.again) for one in server.sent] == [
        ("a", ["1", "2"], False),
        ("unknown", ["3"], False),
    ]
    assert server.requests == 1


async def test_what_may_not_have_been_kept_is_sent_again_and_says_so() -> None:
    server, runs = Server(is_away=True), [saying("a", "1"), saying("b", "2")]
    sender = reports.Reports(cast("services.Services", server), lambda: runs)
    await sender.flush()
    server.is_away = False

    await sender.flush()

    assert [(one.run, texts(one), one.again) for one in server.sent] == [
        ("a", ["1"], True),
        ("b", ["2"], True),
    ]


async def test_one_that_cannot_be_taken_harms_no_others() -> None:
    server, runs = Server(), [saying("a", "1"), saying("broken", "2"), saying("b", "3")]

    await reports.Reports(cast("services.Services", server), lambda: runs).flush()

    assert [one.run for one in server.sent] == ["a", "b"]
    assert not any(run.waiting for run in runs)


async def test_no_more_is_sent_at_once_than_is_taken() -> None:
    server = Server()
    lines = list(map(str, range(services.MOST_SAID)))
    runs = [saying("a", *lines, "more"), saying("b", *lines)]

    await reports.Reports(cast("services.Services", server), lambda: runs).flush()

    assert [(one.run, len(one.said)) for one in server.sent] == [
        ("a", services.MOST_SAID),
        ("a", 1),
        ("b", services.MOST_SAID - 1),
        ("b", 1),
    ]
