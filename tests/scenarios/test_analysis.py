"""ANALYSIS on real clusters, against a real HTTP server that speaks like Prometheus."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import command_world
import metrics_server
import process_time
from controller_process import ControllerProcesses
from measured_world import World, findings, world

RULE = """\
expected: {max: 0.05}
<<: MORE
"""


def measures(given: World, more: str = "{}") -> None:
    """Given: an analysis of canary's errors, with more of the rule than its limit."""
    given.measures(RULE.replace("MORE", more))


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, "us", "eu") as found:
        yield found


async def test_good_numbers_let_the_release_pass(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.01
    measures(given)
    ended = await given.run()

    assert ended.code == 0, ended
    for name in ("us", "eu"):
        assert given.clusters.images(name) == "example/simple:v2 2/2"
    measured = findings(ended, "measurement")
    assert {each["document"]["query"] for each in measured} == {
        f'errors{{cluster="{name}",variant="canary"}}' for name in ("us", "eu")
    }
    assert [each["document"]["values"] for each in measured if each["target"] == "us"] == [
        [0.01],
        [0.01],
        [0.01],
    ]
    assert set(given.metrics.queries) == {each["document"]["query"] for each in measured}


async def test_bad_numbers_take_the_release_back_everywhere(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
    measures(given)
    ended = await given.run()

    assert ended.code == 1, ended
    last = ended.events[-1]
    assert last["status"] == "rolled_back", last
    assert "errors on eu: " in last["reason"]
    assert "0.5 is outside the expected ≤ 0.05" in last["reason"]
    for name in ("us", "eu"):
        assert given.clusters.images(name) == "example/simple:v1 2/2"
        assert given.clusters.find(name, "Deployment", "simple-canary") is None


async def test_no_data_and_errors_are_no_pass(given: World) -> None:
    given.metrics.answer = lambda query, time: None if 'cluster="us"' in query else "overloaded"
    measures(given)
    ended = await given.run()
    said = {each["target"]: each["document"]["message"] for each in findings(ended, "measurement")}

    assert ended.code == 1, ended
    assert "until the deadline" in ended.events[-1]["reason"]
    assert said["us"] == "prom has no data for the query"
    assert "overloaded" in said["eu"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


async def test_an_analysis_without_a_duration_takes_as_long_as_its_looks(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.01
    measures(given, "{count: 2}")
    file = given.clusters.directory / "volary.yaml"
    file.write_text(file.read_text().replace("        duration: 3s\n", ""))
    command_world.commit(given.clusters.directory, "As long as the looks")
    ended = await given.run()

    assert ended.code == 0, ended
    assert len([each for each in findings(ended, "measurement") if each["target"] == "us"]) == 2
    assert given.clusters.images("us") == "example/simple:v2 2/2"


async def test_errors_in_a_row_take_the_release_back_before_the_end(given: World) -> None:
    given.metrics.answer = lambda query, time: "overloaded"
    measures(given, "{noData: pass, consecutiveErrorLimit: 1}")
    ended = await given.run()

    assert ended.code == 1, ended
    assert "2 looks in a row had no answer, 1 allowed" in ended.events[-1]["reason"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


async def test_a_condition_in_cel_takes_the_release_back(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
    given.measures("""\
        successCondition: result[0] < 0.05
        failureCondition: result[0] >= 0.4
    """)
    ended = await given.run()

    assert ended.code == 1, ended
    assert "errors on eu: 1 of 1 look failed" in ended.events[-1]["reason"]
    assert "failureCondition result[0] >= 0.4 holds of 0.5" in ended.events[-1]["reason"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


def errors_of(canary: float, baseline: float, primary: float) -> Callable[[str, float], float]:
    """Return an answer: so many errors of each side's thousand requests at every look."""
    errors = {"canary": canary, "baseline": baseline, "primary": primary}
    return lambda query, time: (
        1000.0
        if query.startswith("requests")
        else next(errors[side] for side in errors if f'variant="{side}"' in query)
    )


THREE_SIDES = """\
    kind: proportion
    totalQuery: 'requests{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
    strategy: CANARY_BASELINE_PRIMARY
"""


async def test_what_baseline_has_as_well_is_not_the_releases(given: World) -> None:
    given.metrics.answer = errors_of(50, 50, 5)
    given.measures(THREE_SIDES)
    ended = await given.run()

    assert ended.code == 0, ended
    verdicts = findings(ended, "verdict")
    assert "and so is baseline, which is as new: not the release" in str(verdicts[-1])
    assert {each["document"]["role"] for each in findings(ended, "measurement")} == {
        "judged",
        "reference",
        "control",
    }
    assert given.clusters.images("us") == "example/simple:v2 2/2"


async def test_what_is_worse_than_both_goes_back(given: World) -> None:
    given.metrics.answer = errors_of(200, 12, 10)
    given.measures(THREE_SIDES)
    ended = await given.run()

    assert ended.code == 1, ended
    assert "worse than both, so it is the release" in ended.events[-1]["reason"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


async def test_more_than_is_usual_at_this_hour_takes_the_release_back(given: World) -> None:
    now = process_time.now().timestamp()
    day = 24 * 3600
    given.metrics.answer = lambda query, time: (
        0.5 if 'variant="canary"' in query else 0.1 if time < now - 6 * day else 0.4
    )
    given.measures("deviation: HIGH\nhistory: {count: 2, tolerance: 0.5}\n")
    ended = await given.run()

    assert ended.code == 1, ended
    assert "0.5 is outside the expected ≤ 0.15" in ended.events[-1]["reason"]
    assert "0.1 is usual, by 2 of 2 times 7 days apart" in ended.events[-1]["reason"]
    before = [each["document"] for each in findings(ended, "measurement")
              if each["document"]["role"] == "history" and each["target"] == "us"]  # fmt: skip
    assert [each["variant"] for each in before] == ["7 days before", "14 days before"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


async def test_a_provider_that_is_down_is_no_pass(given: World) -> None:
    async with metrics_server.serve() as other:
        gone = other.url
    fleet = Path(given.clusters.fleet)
    fleet.write_text(fleet.read_text().replace(given.metrics.url, gone))
    measures(given)
    ended = await given.run()

    assert ended.code == 1, ended
    assert "errors on " in ended.events[-1]["reason"]
    assert "until the deadline" in ended.events[-1]["reason"]
    assert findings(ended, "measurement")[0]["document"]["reading"] == "error"


async def test_a_pooled_verdict_goes_over_one_bad_region_and_names_it(tmp_path: Path) -> None:
    names = ("us", "eu", "asia", "africa")
    async with world(tmp_path, *names) as given:
        given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
        measures(given, "{scope: pooled, failureLimit: 1}")
        ended = await given.run()

        assert ended.code == 0, ended
        verdicts = findings(ended, "verdict")
        sentences = " ".join(each["document"]["sentence"] for each in verdicts)
        assert "eu differs from the other clusters" in sentences
        own = {each["target"]: each["document"]["own"]["result"] for each in verdicts}
        assert own == {"us": "pass", "asia": "pass", "africa": "pass", "eu": "fail"}


# The controller.

_STATUS = "select status from runs order by created desc limit 1"
_LOOKS = "select count(*) from findings where kind = 'measurement' and target = 'us'"


async def test_killed_in_the_middle_an_analysis_goes_on_and_counts_what_it_saw(
    tmp_path: Path,
) -> None:
    """Four failed looks are allowed; five are there only with those of before the crash."""
    async with world(tmp_path, "us") as given:
        given.metrics.answer = lambda query, time: 0.5
        measures(given, "{failureLimit: 4}")
        file = given.clusters.directory / "volary.yaml"
        file.write_text(file.read_text().replace("duration: 3s", "duration: 60s"))
        command_world.commit(given.clusters.directory, "Longer")
        controllers = ControllerProcesses(
            tmp_path / "volary.db", given.clusters.directory, given.clusters.fleet
        )
        async with controllers.started() as process:
            await _until(controllers, _LOOKS, lambda found: found and found >= 3)
            os.kill(process, signal.SIGKILL)
        kept = json.loads(controllers.ask("select document from task_states")[0][0])
        async with controllers.started():
            await _until(controllers, _STATUS, lambda found: found in ("failed", "rolled_back"))
            await _until(controllers, _LOOKS, lambda found: found >= 5)
        reason = controllers.ask("select reason from runs order by created desc limit 1")[0][0]
        looks = controllers.ask(_LOOKS)[0][0]

        assert "errors on us: 5 of " in reason, reason
        assert looks <= 7, "it did not begin again"
        assert json.loads(controllers.ask("select document from task_states")[0][0]) == kept


async def _until(controllers: Any, query: str, holds: Any) -> None:
    async with asyncio.timeout(process_time.HANG):
        while True:
            rows = controllers.ask(query)
            if rows and holds(rows[0][0]):
                return
            await asyncio.sleep(0.02)


# Without a release.


async def test_metrics_are_tried_without_a_release(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
    measures(given)
    before = given.clusters.versions()
    words = ("analysis", "test", ".", "--fleet", given.clusters.fleet)
    ended = await given.clusters.volary(*words, "--at", "-10m", "--looks", "3")
    one = await given.clusters.volary(*words, "--cluster", "us")

    assert ended.code == 1, ended
    assert "fail: errors on eu: " in ended.out
    assert "pass: errors on us: " in ended.out
    assert 'errors (canary): errors{cluster="us",variant="canary"}' in ended.out
    assert (one.code, "eu" in one.out) == (0, False), one
    assert given.clusters.versions() == before
    times = {
        float(each.query["time"]) for each in given.metrics.server.seen if "time" in each.query
    }
    assert len(times) >= 4


async def test_a_comparison_with_an_earlier_analysis_needs_to_be_told_when_that_was(
    given: World,
) -> None:
    given.metrics.answer = lambda query, time: 0.01
    given.measures("strategy: PREVIOUS\ndeviation: HIGH\n")
    words = ("analysis", "test", ".", "--fleet", given.clusters.fleet, "--looks", "6")
    ended = await given.clusters.volary(*words)

    assert ended.code == 0, ended
    assert "nothing to compare with; --previous TIME says when" in ended.out


RATIO = """\
kind: proportion
totalQuery: 'all{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}[{{ interval }}]'
strategy: CANARY_BASELINE
judgement: sequential
"""


def ratio(given: World) -> None:
    """Given: errors among requests, as can be asked of any stretch of time."""
    given.measures(RATIO)
    name = '"{{ .Variant.Name }}"}'
    given.clusters.edit("volary.yaml", f"variant={name}'", f"variant={name}[{{{{ interval }}}}]'")


async def test_a_plan_is_made_for_the_traffic_that_there_is(given: World) -> None:
    """Two pods of primary: canary and baseline get a quarter each."""
    counts = {"all": {"us": 24_000.0, "eu": 1_200.0}, "errors": {"us": 240.0, "eu": 6.0}}
    given.metrics.answer = lambda query, time: counts[query.partition("{")[0]][
        "us" if 'cluster="us"' in query else "eu"
    ]
    ratio(given)
    words = ("analysis", "plan", ".", "--runs", "20", "--output", "json")
    measured = await given.clusters.volary(*words, "--fleet", given.clusters.fleet)
    asked = set(given.metrics.queries)
    given.metrics.server.seen.clear()
    shown = await given.clusters.volary(*words[:-2], "--fleet", given.clusters.fleet)
    given.metrics.server.seen.clear()
    stated = await given.clusters.volary(
        *words, "--fleet", given.clusters.fleet, "--rate", "3", "--errors", "0.5"
    )

    assert measured.code == 0, measured
    (metric,) = json.loads(measured.out)["metrics"]
    rates = {target: (each["canary"], each["other"]) for target, each in metric["traffic"].items()}
    assert rates == {"us": (10, 10), "eu": (0.5, 0.5)}, "per second, of ten minutes"
    shares = {target: each["errors"] for target, each in metric["traffic"].items()}
    assert shares == {"us": 0.01, "eu": 0.005}
    assert asked == {
        f'{name}{{cluster="{cluster}",variant="primary"}}[10m]'
        for name in counts
        for cluster in ("us", "eu")
    }
    assert re.search(r"3-ANALYSIS +us +10/s +10/s +1 % +errors", shown.out), shown
    assert re.search(r"3-ANALYSIS +eu +0.5/s +0.5/s +0.5 % +errors", shown.out), shown
    (metric,) = json.loads(stated.out)["metrics"]
    assert {each["canary"] for each in metric["traffic"].values()} == {3}
    assert {each["errors"] for each in metric["traffic"].values()} == {0.5}
    assert len(metric["traffic"]) == 2
    assert given.metrics.queries == [], "what is stated is not asked for"


async def test_a_plan_says_which_traffic_is_not_known(given: World) -> None:
    given.metrics.answer = lambda query, time: None if 'cluster="us"' in query else "overloaded"
    ratio(given)
    words = ("analysis", "plan", ".", "--fleet", given.clusters.fleet)
    ended = await given.clusters.volary(*words)
    alike = await given.clusters.volary(*words, "--clusters", "3")

    assert (ended.code, ended.out) == (2, ""), ended
    assert "errors on us: its traffic cannot be measured: prom has no data" in ended.err
    assert "errors on eu: its traffic cannot be measured: prom" in ended.err
    assert "overloaded" in ended.err
    assert ended.err.count("hint: --rate states what canary gets, and nobody is asked") == 1
    assert alike.code == 2, alike
    assert "hint: leave it out, or state the traffic: --rate" in alike.err


async def test_a_plan_says_what_buckets_cannot_tell(given: World) -> None:
    def answer(query: str, time: float) -> float:
        if not query.startswith("histogram_quantile("):
            return 6000.0 if "requests" in query else 0.0
        bounds = {"histogram_quantile(1e-9": 0.25, "histogram_quantile(1,": 0.5}
        return next((bound for each, bound in bounds.items() if query.startswith(each)), 0.4)

    given.metrics.answer = answer
    given.measures("strategy: CANARY_BASELINE\ndeviation: HIGH\njudgement: sequential\n")
    written = 'errors{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
    quantile = 'histogram_quantile(0.99, b{variant="{{ .Variant.Name }}"})'
    given.clusters.edit("volary.yaml", written, quantile)
    fleet = given.clusters.fleet
    planned = await given.clusters.volary("analysis", "plan", ".", "--fleet", fleet, "--runs", "20")
    tried = await given.clusters.volary("analysis", "test", ".", "--fleet", fleet, "--looks", "12")

    assert planned.code == 0, planned
    assert (
        "3-ANALYSIS: errors: primary's is in the bucket from 0.25 to 0.5, within which nothing"
        " can be told"
    ) in planned.out
    assert "baseline's is in the bucket from 0.25 to 0.5" in tried.out, tried
