"""Spans as a collector gets them."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

import span_collector
from volary.telemetry import otlp, spans

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
RUN = spans.Place("4711")
STAGE = spans.Place("4711", ("1-K8S_SYNC",))


async def _sent(collector: span_collector.Collector, **more: object) -> list[str]:
    """Send what a process knows of a run; returns names in the order of arrival."""

    def work() -> None:
        wanted = otlp.Collector(collector.url, **more)
        with otlp.open_tracer(wanted) as tracer, spans.traced(tracer):
            with spans.span("K8S_SYNC", {"volary.cluster": "us"}, within=STAGE), spans.span("GET"):
                pass
            spans.tell(spans.FinishedSpan("stage", STAGE, BEGAN, BEGAN + timedelta(seconds=4)))
            spans.tell(
                spans.FinishedSpan(
                    "run", RUN, BEGAN, BEGAN + timedelta(seconds=5), {"kind": "release"}, "failed"
                )
            )

    await asyncio.to_thread(work)
    return [span.name for span in collector.spans]


async def test_what_two_processes_do_for_a_run_is_one_trace() -> None:
    async with span_collector.collecting() as collector:
        await _sent(collector, headers={"authorization": "Bearer secret"})
        await _sent(collector)

    run, again = collector.named("run")
    stage = collector.named("stage")[0]
    tasks = collector.named("K8S_SYNC")
    assert (run.trace, run.id, run.parent) == (again.trace, again.id, "")
    assert (run.seconds, run.attributes["kind"], run.failed) == (5, "release", True)
    assert (stage.parent, stage.seconds, stage.failed) == (run.id, 4, False)
    assert [task.parent for task in tasks] == [stage.id] * 2
    assert tasks[0].attributes == {"volary.cluster": "us"}
    assert [span.parent for span in collector.named("GET")] == [task.id for task in tasks]
    assert len({span.trace for span in collector.spans}) == 1
    assert collector.authorizations == {"Bearer secret", ""}


async def test_a_failure_is_told_by_its_type_and_not_by_its_words() -> None:
    def work(url: str) -> None:
        with (
            otlp.open_tracer(otlp.Collector(url)) as tracer,
            spans.traced(tracer),
            pytest.raises(KeyError),
            spans.span("work"),
        ):
            raise KeyError("the secret")

    async with span_collector.collecting() as collector:
        await asyncio.to_thread(work, collector.url)

    (span,) = collector.spans
    assert (span.failed, span.attributes) == (True, {"error.type": "KeyError"})


async def test_a_run_is_traced_whole_or_not_at_all() -> None:
    async with span_collector.collecting() as collector:
        nothing = await _sent(collector, sampled=0)

    assert nothing == []


async def test_a_collector_in_trouble_costs_spans_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with span_collector.collecting() as collector:
        collector.status = 400
        assert "run" in await _sent(collector)

    assert "the secret" not in caplog.text


def test_where_nobody_traces_nothing_happens() -> None:
    with spans.span("work", {"a": 1}) as span:
        span.describe({"b": 2})
        span.rename("other")
        span.fail("why")
    spans.tell(spans.FinishedSpan("run", RUN, BEGAN, BEGAN))
