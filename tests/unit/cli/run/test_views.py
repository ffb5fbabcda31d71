"""Plain lines of a run: each thing once, and what is waited for at most every few seconds."""

import asyncio
import io
from datetime import UTC, datetime, timedelta

from rich import console as rich_console

from volary.cli.run import views
from volary.engine.observers import feed
from volary.model import statuses

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = {"run": "r", "stage": "1-K8S_SYNC", "stage_name": "K8S_SYNC"}


def lines_of() -> tuple[views.Lines, io.StringIO]:
    written = io.StringIO()
    console = rich_console.Console(file=written, width=40, soft_wrap=True, highlight=False)
    view = views.Lines(console)
    view.notify(
        feed.RunStarted(
            at=NOW,
            run="r",
            application="shop",
            commit="abc",
            running_commit="",
            targets=("us", "eu"),
            stages=("1-K8S_SYNC",),
        )
    )
    return view, written


def progress(target: str, after: float, sentence: str) -> feed.TaskProgressed:
    at = NOW + timedelta(seconds=after)
    return feed.TaskProgressed(
        at=at, target=target, attempt=1, sentence=sentence, ready=0, total=0, **PLACE
    )


def finished(target: str, after: float, reason: str) -> feed.TaskFinished:
    at = NOW + timedelta(seconds=after)
    status = statuses.TaskStatus.FAILED
    return feed.TaskFinished(
        at=at, target=target, attempt=1, status=status, reason=reason, details=(), **PLACE
    )


def test_what_is_waited_for_is_written_when_it_changes_at_most_every_few_seconds() -> None:
    view, written = lines_of()

    for tenth in range(120):
        view.notify(progress("eu", tenth / 10, f"{tenth} of 120 ready"))
    view.notify(progress("us", 12, "0 of 1 ready"))
    view.notify(progress("us", 30, "0 of 1 ready"))

    said = [line.split("K8S_SYNC: ")[1] for line in written.getvalue().splitlines()]
    counts = [f"{count} of 120 ready" for count in (0, 50, 100, 119)]
    assert said == [*counts[:3], "0 of 1 ready", counts[3]]


async def test_the_newest_is_written_also_when_nothing_happens_any_more() -> None:
    view, written = lines_of()
    with view:
        view.notify(progress("eu", 0, "pulling"))
        view.notify(progress("eu", 1, "a crash loop"))
        assert "a crash loop" not in written.getvalue()
        await asyncio.sleep(6)

    assert written.getvalue().endswith("eu K8S_SYNC: a crash loop\n")


def test_what_a_task_waited_for_is_not_written_after_its_end() -> None:
    view, written = lines_of()
    view.notify(progress("eu", 0, "pulling"))
    view.notify(progress("eu", 1, "starting"))
    view.notify(finished("eu", 2, "the image is not there"))
    view.notify(progress("us", 60, "pulling"))

    assert "starting" not in written.getvalue()


def test_a_reason_is_written_once_and_on_a_line_of_its_own() -> None:
    why = "Deployment shop: the image example/shop:v2 cannot be pulled, it is not there at all"
    view, written = lines_of()
    view.notify(finished("eu", 1, why))
    reason = f"K8S_SYNC failed: eu: {why}"
    failed = statuses.TaskStatus.FAILED
    view.notify(feed.StageFinished(at=NOW, status=failed, reason=f"eu: {why}", **PLACE))
    view.notify(feed.RollbackStarted(at=NOW, run="r", reason=reason, targets=("us", "eu")))

    lines = written.getvalue().splitlines()
    assert written.getvalue().count(why) == 1, "also wider than the terminal, in one piece"
    assert lines[1].endswith("K8S_SYNC failed: eu")
    assert lines[2].endswith("rolling back us, eu: K8S_SYNC failed: eu")
