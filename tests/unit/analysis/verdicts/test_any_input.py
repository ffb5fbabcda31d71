"""Whatever metric systems answer, a rule is judged: no exception, sane numbers."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from volary.analysis.verdicts import fleet_verdicts
from volary.model import analysis

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

numbers = st.one_of(
    st.floats(),
    st.integers(0, 50).map(float),
    st.sampled_from([0.0, -0.0, 1e-310, 1e308, math.nan, math.inf, -math.inf, 2.0**53]),
)
positive = st.floats(1e-6, 1e6)
bounds = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))

rules = st.builds(
    analysis.Rule,
    name=st.just("m"),
    provider=st.just("p"),
    query=st.just("q"),
    kind=st.sampled_from(analysis.Kind),
    strategy=st.sampled_from(analysis.Strategy),
    expected=st.one_of(st.none(), st.builds(analysis.Range, bounds, bounds)),
    deviation=st.sampled_from(analysis.Deviation),
    ratio_limit=st.one_of(st.none(), positive),
    judgement=st.sampled_from(analysis.Judgement),
    significance=st.floats(1e-6, 0.5),
    failure_limit=st.integers(0, 2),
    failure_count=st.sampled_from(analysis.FailureCount),
    inconclusive_limit=st.sampled_from([None, 0, 1]),
    consecutive_error_limit=st.sampled_from([None, 0, 1]),
    minimum_samples=st.integers(1, 5),
    median_per_look=st.booleans(),
    warm_up=st.sampled_from([timedelta(0), MINUTE]),
    no_data=st.sampled_from(analysis.NoData),
    decider=st.sampled_from(analysis.Decider),
    success_condition=st.sampled_from(["", "", "result < 1.0", "result[1] < 1.0"]),
    failure_condition=st.sampled_from(["", "", "result > 2.0", "result.exists(r, r > 2.0)"]),
    history=st.sampled_from([None, None, analysis.History()]),
    slo=st.sampled_from([None, analysis.Slo(99.9), analysis.Slo(50, MINUTE)]),
)


def judgeable(rule: analysis.Rule) -> analysis.Rule:
    """Return the nearest rule that can be judged."""
    compares, kind = rule.strategy.compares, rule.kind
    low, high = (rule.expected.minimum, rule.expected.maximum) if rule.expected else (None, 1.0)
    if low is not None and high is not None:
        low, high = min(low, high), max(low, high)
    is_counted = kind is analysis.Kind.PROPORTION and not compares
    expected = analysis.Range(0.0 if low is None and high is None else low, high)
    if kind is not analysis.Kind.VALUE or compares or rule.history is not None:
        rule = replace(rule, success_condition="", failure_condition="")
    return replace(
        rule,
        total_query="t" if kind is analysis.Kind.PROPORTION else "",
        expected=None if compares else expected,
        ratio_limit=rule.ratio_limit if compares else None,
        median_per_look=rule.median_per_look and compares and kind is analysis.Kind.VALUE,
        judgement=_judgement(rule),
        history=rule.history if not compares else None,
        slo=rule.slo if is_counted and rule.judgement is analysis.Judgement.SEQUENTIAL else None,
    )


def _judgement(rule: analysis.Rule) -> analysis.Judgement:
    if rule.strategy.has_control:
        return analysis.Judgement.SEQUENTIAL
    return rule.judgement if rule.can_be_sequential else analysis.Judgement.EACH


@st.composite
def measurements(draw: st.DrawFn, target: str) -> tuple[analysis.Measurement, ...]:
    found = []
    for at in range(draw(st.integers(0, 4))):
        for role in analysis.Role:
            if draw(st.integers(0, 9)) == 0:
                continue
            found.append(
                analysis.Measurement(
                    "m",
                    "q",
                    START + at * MINUTE,
                    target=target,
                    role=role,
                    values=tuple(draw(st.lists(numbers, max_size=4))),
                    totals=tuple(draw(st.lists(numbers, max_size=4))),
                    reading=draw(
                        st.sampled_from([*[analysis.Reading.VALUES] * 4, *analysis.Reading])
                    ),
                )
            )
    return tuple(found)


def is_sane(verdict: analysis.Verdict) -> bool:
    found = verdict.numbers
    p_value = found.p_value
    return bool(verdict.sentence) and (p_value is None or 0 <= p_value <= 1)


@settings(max_examples=300)
@given(rules.map(judgeable), st.data())
def test_nothing_that_is_measured_breaks_the_judgement(
    rule: analysis.Rule, data: st.DataObject
) -> None:
    series = {
        target: analysis.Series(
            START, START + 4 * MINUTE, START + 5 * MINUTE, target, data.draw(measurements(target))
        )
        for target in ("eu", "us")[: data.draw(st.integers(1, 2))]
    }
    for minute in (2, 4, 5):
        found = fleet_verdicts.judge(rule, series, START + minute * MINUTE)
        verdicts = [found.pooled, *found.own.values(), *found.decided.values()]
        assert all(map(is_sane, verdicts))
        if rule.decider is analysis.Decider.PER_CLUSTER and len(series) > 1:
            pooled = fleet_verdicts.pool(rule, series, START + minute * MINUTE)
            assert str(pooled) == str(found.pooled)  # NaN is not what it is itself
        if minute == 5:
            assert all(each.is_final for each in found.decided.values())
        for target, each in series.items():
            empty = replace(each, measurements=())
            silent = fleet_verdicts.judge(rule, {target: empty}, START + minute * MINUTE).own[
                target
            ]
            is_allowed = rule.no_data is analysis.NoData.PASS
            assert is_allowed or silent.result is not analysis.Result.PASS
