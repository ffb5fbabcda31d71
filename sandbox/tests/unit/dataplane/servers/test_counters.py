"""What servers count, and how it is told."""

import asyncio
import bisect
import math
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.dataplane.servers import counters, exposition

WHO = exposition.Identity("us", "default", "shop-1", "shop", "shop", 'v"1"', "canary")


def counted(*answers: tuple[int, float]) -> counters.Counters:
    made = counters.Counters()
    for status, seconds in answers:
        made.observe("GET", status, seconds, now=1.0)
    return made


@given(st.lists(st.floats(0, 50), min_size=1, max_size=200), st.floats(0.01, 0.99))
def test_a_quantile_is_in_the_class_of_the_real_one(values: list[float], share: float) -> None:
    durations = counters.Histogram()
    for each in values:
        durations.add(each)

    found = durations.quantile(share)

    assert found is not None
    rank = max(0, math.ceil(share * len(values)) - 1)
    real = sorted(values)[rank]
    place = bisect.bisect_left(counters.BOUNDS, real)
    lower, upper = (0.0, *counters.BOUNDS)[place], counters.BOUNDS[place]
    assert lower - 1e-9 <= found <= upper + 1e-9


def test_nothing_has_no_quantile() -> None:
    assert counters.Histogram().quantile(0.5) is None


def test_seconds_are_kept_for_a_while() -> None:
    made = counters.Counters()
    for second in range(counters.HISTORY + 50):
        made.observe("GET", 500 if second % 2 else 200, 0.01, now=float(second))

    everything = list(made.since(0))
    last = list(made.since(counters.HISTORY + 40.5))

    assert len(everything) == counters.HISTORY
    assert [each.requests for each in last] == [1] * 10
    assert sum(each.errors for each in last) == 5


def test_series_are_there_before_their_first_request() -> None:
    text = exposition.write(WHO, counters.Counters()).decode()

    assert 'http_requests_total{method="GET",path="root",status="500"} 0' in text
    assert 'istio_requests_total{reporter="destination"' in text


def test_classes_add_up_in_every_naming() -> None:
    text = exposition.write(WHO, counted((200, 0.003), (200, 0.2), (500, 7.0))).decode()

    for line in (
        'http_request_duration_seconds_bucket{method="GET",path="root",status="200",le="0.1"} 1',
        'http_request_duration_seconds_sum{method="GET",path="root",status="200"} 0.203',
        'status_code="500",le="10000"} 1',
        'status_code="500",le="5000"} 0',
        'destination_version="v\\"1\\""',
    ):
        assert line in text, text


async def test_prometheus_reads_it() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    text = exposition.write(WHO, counted((200, 0.003), (500, 7.0), (302, 0.1)))
    process = await asyncio.create_subprocess_exec(
        program, "check", "metrics", stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate(text)

    # Advice about style, such as seconds instead of milliseconds, ends with 3.
    assert process.returncode in (0, 3), said.decode()
    assert "error while linting" not in said.decode()
