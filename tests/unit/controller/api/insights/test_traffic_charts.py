"""Events about traffic as a chart."""

from datetime import UTC, datetime, timedelta

from volary.controller.api.insights import traffic_charts
from volary.model import json
from volary.model.runs import run_records
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, target: str = "us", **document: object) -> records.FeedEvent:
    record = run_records.EventRecord(
        AT + timedelta(seconds=number), "task-traffic", document, "1-STAGE", target
    )
    return records.FeedEvent(number, "run", "shop", number, record)


def weights(canary: int) -> json.JsonObject:
    return {"primary": 100 - canary, "canary": canary}


def test_samples_are_in_order_and_the_newest_of_each_cluster_is_how_it_is_now() -> None:
    chart = traffic_charts.chart(
        "run",
        [
            event(1, wantedWeights=weights(10), observedWeights={}),
            event(2, "eu", wantedWeights=weights(10), observedWeights=weights(10)),
            event(3, wantedWeights=weights(50), observedWeights=weights(49)),
        ],
    )

    assert [(item.cluster, item.wanted["canary"]) for item in chart.samples] == [
        ("us", 10),
        ("eu", 10),
        ("us", 50),
    ]
    assert chart.samples[0].observed == {}
    assert [(item.cluster, item.observed["canary"]) for item in chart.now] == [
        ("eu", 10),
        ("us", 49),
    ]
    assert chart.omitted == 0


def test_what_clusters_report_is_put_in_the_order_it_happened() -> None:
    kept = [
        event(1, wantedWeights=weights(10)),
        event(9, wantedWeights=weights(50)),
        event(3, "eu", wantedWeights=weights(10)),
    ]
    chart = traffic_charts.chart("run", kept)

    assert [(item.cluster, item.at) for item in chart.samples] == [
        ("us", AT + timedelta(seconds=1)),
        ("eu", AT + timedelta(seconds=3)),
        ("us", AT + timedelta(seconds=9)),
    ]
    assert [(item.cluster, item.wanted["canary"]) for item in chart.now] == [("eu", 10), ("us", 50)]


def test_the_middle_of_too_many_is_left_out_and_counted() -> None:
    chart = traffic_charts.chart(
        "run", [event(number, wantedWeights=weights(1)) for number in range(6000)]
    )

    assert (len(chart.samples), chart.omitted) == (5000, 1000)
    assert chart.samples[0].at == AT
    assert chart.samples[-1].at == AT + timedelta(seconds=5999)


def test_what_is_no_weight_is_passed_over() -> None:
    chart = traffic_charts.chart("run", [event(1, wantedWeights={"a": "x"}, observedWeights=3)])

    assert (chart.samples[0].wanted, chart.samples[0].observed) == ({}, {})
