"""The matrix is folded from events alone."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich import console as rich_console

from volary.cli.run import cells, grid, matrix, screen
from volary.engine import executor
from volary.engine.observers import feed
from volary.model import statuses

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = ("1-K8S_CANARY_ROLLOUT", "2-WAIT")
PLACE = {"run": "r", "stage": STAGES[0], "stage_name": "K8S_CANARY_ROLLOUT"}


def _started() -> matrix.Matrix:
    return matrix.fold(
        matrix.Matrix(),
        feed.RunStarted(
            at=NOW,
            run="r",
            application="shop",
            commit="abc",
            running_commit="",
            targets=("us", "eu"),
            stages=STAGES,
        ),
    )


def _task(event: type[feed.TaskEvent], target: str, after: float = 0, **fields: object) -> object:
    moment = NOW + timedelta(seconds=after)
    return event(at=moment, target=target, attempt=1, **PLACE, **fields)


def _running() -> matrix.Matrix:
    shown = _started()
    shown = matrix.fold(
        shown, feed.StageStarted(at=NOW, targets=("us", "eu"), deadline=None, **PLACE)
    )
    for target in ("us", "eu"):
        shown = matrix.fold(shown, _task(feed.TaskStarted, target, deadline=None))
    return shown


def test_a_started_stage_has_a_running_cell_for_each_cluster() -> None:
    assert _running().running == ((STAGES[0], "us"), (STAGES[0], "eu"))


def test_progress_shows_ready_pods_and_why_it_waits() -> None:
    shown = matrix.fold(
        _running(),
        _task(feed.TaskProgressed, "eu", sentence="shop-canary: 1 of 2", ready=1, total=2),
    )

    assert cells.text(shown.cells[STAGES[0], "eu"], NOW) == ("▶ 1/2 0.0s", "cyan")
    assert matrix.explain(shown) == "K8S_CANARY_ROLLOUT waits for eu: shop-canary: 1 of 2"


def test_a_finished_cell_keeps_its_time_and_says_what_is_wrong() -> None:
    ended = {"status": statuses.TaskStatus.FAILED, "reason": "no image", "details": ()}
    shown = matrix.fold(_running(), _task(feed.TaskFinished, "eu", 75, **ended))

    later = NOW + timedelta(hours=1)
    assert cells.text(shown.cells[STAGES[0], "eu"], later) == ("✗ failed 1m15s", "red")


def test_wanted_weights_that_were_not_read_back_show_what_was_seen() -> None:
    wanted = {"primary": 80, "canary": 10, "baseline": 10}

    assert cells.weights(wanted, wanted) == "80/10/10"
    assert cells.weights(wanted, {"primary": 100}) == "80/10/10 (seen 100/0/0)"


def test_with_many_clusters_those_that_need_a_look_come_first() -> None:
    names = tuple(f"c{number:02}" for number in range(20))
    shown = matrix.fold(
        matrix.Matrix(),
        feed.RunStarted(
            at=NOW,
            run="r",
            application="a",
            commit="c",
            running_commit="",
            targets=names,
            stages=STAGES,
        ),
    )
    ended = {"status": statuses.TaskStatus.FAILED, "reason": "x", "details": ()}
    shown = matrix.fold(shown, _task(feed.TaskFinished, "c15", **ended))

    drawn = _drawn(grid.draw(shown, NOW, width=80, rows=3), width=80)

    first = [line.split()[0] for line in drawn[-4:-1]]
    assert first == ["c15", "c00", "c01"]
    assert drawn[-1] == "… and 17 more clusters"


def _drawn(shown: rich_console.RenderableType, *, width: int) -> list[str]:
    """Return the lines as a terminal of that width gets them."""
    console = rich_console.Console(width=width, file=io.StringIO(), force_terminal=False)
    with console.capture() as written:
        console.print(shown)
    return [line.rstrip() for line in written.get().splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 16), (120, 40), (200, 50)])
@pytest.mark.parametrize("count", [1, 3, 6, 30, 200])
def test_the_screen_fits_the_terminal(count: int, width: int, height: int) -> None:
    """Every line in the width, all lines in the height, and names in full."""
    names = tuple(f"cluster-{number}" for number in range(count))
    stages = tuple(f"{number}-K8S_BASELINE_ROLLOUT" for number in range(1, 7))
    shown = matrix.fold(
        matrix.Matrix(),
        feed.RunStarted(
            at=NOW,
            run="r",
            application="shop",
            commit="c" * 40,
            running_commit="",
            targets=names,
            stages=stages,
        ),
    )
    for name in names:
        task = {
            "at": NOW,
            "run": "r",
            "stage": stages[0],
            "stage_name": "K8S_BASELINE_ROLLOUT",
            "target": name,
            "attempt": 1,
        }
        shown = matrix.fold(shown, feed.TaskStarted(deadline=None, **task))
        line = "created Deployment " + "x" * 200
        shown = matrix.fold(shown, feed.TaskLogged(level=executor.LogLevel.INFO, line=line, **task))

    lines = _drawn(screen.draw(shown, NOW, width=width, height=height), width=width)

    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert any(f" {names[0]} ▶" in line for line in lines)
    assert lines[-1].startswith("→ ")


def test_the_log_is_bounded() -> None:
    shown = _running()
    for number in range(matrix.LOG_LINES + 5):
        line = _task(feed.TaskLogged, "us", level=executor.LogLevel.INFO, line=str(number))
        shown = matrix.fold(shown, line)

    assert len(shown.logs) == matrix.LOG_LINES
    assert shown.logs[-1].line == str(matrix.LOG_LINES + 4)


def test_an_approval_that_is_waited_for_is_seen_in_its_stage_until_it_begins() -> None:
    waits = "awaiting approval: 0 of 1 (approvers: ana)"
    shown = matrix.fold(_started(), feed.StageWaiting(at=NOW, reason=waits, **PLACE))

    cell = shown.cell(STAGES[0], "us")
    assert cell is not None
    assert (cells.text(cell, NOW)[0], cell.sentence) == ("… waiting", waits)
    given = matrix.fold(shown, feed.StageStarted(at=NOW, targets=("us",), deadline=None, **PLACE))
    assert given.cell(STAGES[0], "us") == matrix.Cell()
    assert given.cell(STAGES[0], "eu") is None, "the stage leaves it out"
    failed = statuses.RunStatus.FAILED
    ended = matrix.fold(
        shown, feed.RunFinished(at=NOW, run="r", status=failed, reason="rejected", touched=())
    )
    assert ended.cell(STAGES[0], "us") == matrix.Cell()
