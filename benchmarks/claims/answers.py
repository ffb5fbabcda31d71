"""Claims about the three answers: what fails, what passes, and what is too little to say."""

import functools
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from benchmarks import simulation
from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_least, exactly
from benchmarks.claims.releases import (
    BAD,
    ERROR,
    ERRORS,
    GOOD,
    LIMIT,
    NOTHING,
    ONE_BY_ONE,
    RANGE,
    RATE,
    VALUES,
    Answer,
    alone,
    beside,
    count,
    counted,
    judged,
    values,
)
from volary.analysis.planning import traffic
from volary.model import analysis
from volary.model.analysis import Decider, Judgement, Kind, NoData, Range, Result

#: Every kind of rule, and an answer that each could judge.
RULES = (
    (ERRORS, count(1, 100)),
    (ONE_BY_ONE, count(1, 100)),
    (RATE, count(1, 100)),
    (VALUES, values(1.0, 2.0, 3.0, 4.0)),
    (LIMIT, count(0, 1000)),
    (RANGE, GOOD),
)


def with_same(rule: analysis.Rule, answers: Sequence[Answer], other: Answer) -> analysis.Series:
    """Return a release with these answers of canary; the other side, if any, has always this."""
    if not rule.strategy.compares:
        return alone(answers)
    return beside([(answer, other) for answer in answers])


def _look_that_fails_at_once() -> float:
    return releases.failing_look(RANGE, alone([GOOD, GOOD, BAD], planned=20), 40)


def _look_that_fails_held() -> float:
    return releases.failing_look(RANGE, alone([NOTHING] * 20), 60)


def _empty_looks_until_failure(judgement: Judgement) -> float:
    rule = replace(LIMIT, judgement=judgement, no_data=NoData.FAIL, failure_limit=3)
    return releases.failing_look(rule, alone([NOTHING] * 20), 20)


def _let_through_and_said() -> float:
    said = 0
    for rule, other in RULES:
        found = judged(replace(rule, no_data=NoData.PASS), with_same(rule, [NOTHING] * 20, other))
        said += found.result is Result.PASS and "the rule lets that pass" in found.sentence
    return releases.share(said, len(RULES))


def _limits() -> dict[str, tuple[analysis.Rule, Answer]]:
    few = replace(RANGE, minimum_samples=2)
    return {
        "failed": (replace(RANGE, failure_limit=2), BAD),
        "inconclusive": (replace(few, inconclusive_limit=2), GOOD),
        "unanswered": (replace(RANGE, consecutive_error_limit=2), ERROR),
    }


def _look_that_exceeds(name: str) -> float:
    rule, answer = _limits()[name]
    return releases.failing_look(rule, alone([answer] * 20), 20)


def _condemned_without_measurements() -> float:
    """Count the condemned among releases that fail for what is missing."""
    condemned = failed = 0
    for rule, other in RULES:
        for answer in (ERROR, NOTHING):
            for limited in (
                rule,
                replace(rule, no_data=NoData.FAIL),
                replace(rule, consecutive_error_limit=2),
            ):
                release = with_same(rule, [answer] * 20, other)
                found = judged(limited, release, 40)
                failed += found.result is Result.FAIL
                condemned += found.is_condemned
    return condemned if failed == 6 * len(RULES) else math.nan


def _decided_without_answers() -> float:
    """Count the clusters that pass, of three of which one has no answers and fails by itself."""
    rule = replace(ERRORS, decider=Decider.BOTH, consecutive_error_limit=2)
    fleet = {name: counted((1, 100), (9, 900), target=name) for name in ("eu", "us")}
    fleet["ap"] = beside([(ERROR, ERROR)] * 20, target="ap")
    found = releases.fleet_judged(rule, fleet)
    is_failed = found.own["ap"].result is Result.FAIL
    passed = [one.result for one in found.decided.values()].count(Result.PASS)
    return passed if is_failed else math.nan


def _silences() -> Iterator[tuple[analysis.Rule, analysis.Series]]:
    """Yield releases of whose canary nothing is known, for every kind of rule."""
    nan, infinite = math.nan, math.inf
    silent: dict[str, tuple[Answer, ...]] = {
        "no answer": (),
        "an error": (ERROR,),
        "an empty answer": (NOTHING, Answer()),
        "no numbers": tuple(Answer((x,), (x,)) for x in (nan, infinite, -infinite)),
        "no numbers among others": tuple(Answer((1, x), (100, x)) for x in (nan, infinite)),
        "a total of zero": (count(0, 0),),
        "three requests": (count(0, 3),),
    }
    for (rule, other), policy, (name, answers) in itertools.product(
        RULES, (NoData.HOLD, NoData.FAIL), silent.items()
    ):
        if rule.kind is not Kind.PROPORTION and name in ("a total of zero", "three requests"):
            continue
        asked = replace(rule, no_data=policy)
        looks = 1 if name == "three requests" else 20
        for answer in answers:
            yield asked, with_same(rule, [answer] * looks, other)
        if not answers:
            yield asked, releases.series([], planned=20)


def _silent_passes() -> float:
    return sum(
        judged(rule, release, look).result is Result.PASS
        for rule, release in _silences()
        for look in (1, 20, 40)
    )


def _mixed(generator: random.Random, *, outside: bool) -> Answer:
    """Return an answer of several series, most of which say nothing."""
    found = [
        generator.choice((math.nan, -math.inf, generator.random() / 100))
        for _ in range(generator.randint(1, 5))
    ]
    found.append(generator.choice((math.inf, 0.01 + generator.random())) if outside else math.nan)
    generator.shuffle(found)
    return Answer(tuple(found))


def _results(answers: Iterable[Answer], result: Result) -> float:
    found = [judged(RANGE, alone([answer])).result for answer in answers]
    return releases.share(found.count(result), len(found))


def _outside_fails() -> float:
    generator = random.Random(1)
    return _results((_mixed(generator, outside=True) for _ in range(500)), Result.FAIL)


def _rest_is_inconclusive() -> float:
    generator = random.Random(2)
    return _results((_mixed(generator, outside=False) for _ in range(500)), Result.INCONCLUSIVE)


def _infinity_fails() -> float:
    largest = replace(RANGE, expected=Range(maximum=1.7e308))
    return releases.share(judged(largest, alone([values(math.inf)])).result is Result.FAIL, 1)


def _enough(rule: analysis.Rule) -> Answer:
    """Return an answer of which twenty are more than enough to pass."""
    answers = {Kind.VALUE: values(*[0.005] * 20), Kind.RATE: count(100, 100)}
    return answers.get(rule.kind, count(0, 1000))


def _passes_without_the_last_look() -> float:
    passes = 0
    for rule, _ in RULES:
        good = _enough(rule)
        for missing in range(1, 10):
            answers = [good] * (20 - missing) + [NOTHING] * missing
            passes += judged(rule, with_same(rule, answers, good)).result is Result.PASS
    return passes


def _least_looks_that_pass() -> float:
    """Return how many of twenty looks a pass needs, the last one among them, of every rule."""

    def passes(answered: int) -> bool:
        return any(
            judged(
                rule,
                with_same(
                    rule, [NOTHING] * (20 - answered) + [_enough(rule)] * answered, _enough(rule)
                ),
            ).result
            is Result.PASS
            for rule, _ in RULES
        )

    return releases.first(range(1, 21), passes)


def _passes_of_bad_looks(result: Result) -> float:
    rule = replace(RANGE, failure_limit=20)
    found = [
        judged(rule, alone([BAD] * bad + [NOTHING] * (20 - bad))).result for bad in range(1, 21)
    ]
    return releases.share(found.count(result), len(found))


def least_that_passes(rule: analysis.Rule, looks: int = 10) -> int:
    """Return the least requests a look on canary of which a pass is possible; 1 % beside it."""

    def passes(requests: int) -> bool:
        other = count(0.09 * requests, 9 * requests)
        release = with_same(rule, [count(0, requests)] * looks, other)
        return judged(rule, release).result is Result.PASS

    return int(releases.first(range(1, 200), passes))


def _found_at(rule: analysis.Rule, level: float, requests: int, looks: int, runs: int) -> float:
    """Return how many percent of drawn releases with that level of errors fail at the end."""
    generator, canary = random.Random(1), simulation.drawer(requests, level)
    usual = simulation.drawer(9 * requests, 0.01)
    failed = 0
    for _ in range(runs):
        sides = [
            (count(canary(generator), requests), count(usual(generator), 9 * requests))
            for _ in range(looks)
        ]
        is_compared = rule.strategy.compares
        release = beside(sides) if is_compared else alone([one for one, _ in sides])
        failed += judged(rule, release).result is Result.FAIL
    return releases.share(failed, runs)


def _plainly_bad_are_found(rule: analysis.Rule) -> float:
    return _found_at(rule, 0.11, least_that_passes(rule), 10, 200)


def _rates_are_found() -> float:
    """Return how many releases fail that have twice the events and one a second more.

    In the least events of which a pass is possible.
    """
    looks = 10

    def passes(events: int) -> bool:
        release = beside([(count(events, 1), count(events, 1))] * looks)
        return judged(RATE, release).result is Result.PASS

    events = int(releases.first(range(1, 200), passes))
    generator, failed, runs = random.Random(1), 0, 200
    worse, usual = (simulation.drawer(6000, mean / 6000) for mean in (2 * events + 60, events))
    for _ in range(runs):
        sides = [(count(worse(generator), 1), count(usual(generator), 1)) for _ in range(looks)]
        failed += judged(RATE, beside(sides)).result is Result.FAIL
    return releases.share(failed, runs)


def _few_pass(canary: int, other: int, looks: int) -> float:
    """Count passes of releases whose canary has so few requests in all, in any policy of looks."""
    passes = 0
    for rule in (ERRORS, ONE_BY_ONE):
        for errors in range(other // 10):
            release = counted((0, canary / looks), (errors / looks, other / looks), looks=looks)
            passes += judged(rule, release).result is Result.PASS
    return passes


def _one_passes_no_limit() -> float:
    passes = 0
    for judgement, maximum in itertools.product(Judgement, (0.0, 0.001, 0.01, 0.1, 0.5)):
        rule = replace(LIMIT, judgement=judgement, expected=Range(maximum=maximum))
        passes += judged(rule, alone([count(0, 1)])).result is Result.PASS
    return passes


def _passes_of_values_that_show_nothing() -> float:
    """Count sizes of looks that pass, where one side wholly above the other would not fail."""
    wrong = passes = 0
    for judgement, first_size, second_size in itertools.product(
        Judgement, range(1, 13), (1, 2, 3, 4, 6, 9, 12)
    ):
        rule = replace(VALUES, judgement=judgement)
        low = values(*(number + 0.5 for number in range(second_size)))
        alike = values(*(float(number % second_size) for number in range(first_size)))
        above = values(*(100.0 + number for number in range(first_size)))
        if judged(rule, beside([(alike, low)])).result is Result.PASS:
            passes += 1
            wrong += judged(rule, beside([(above, low)])).result is not Result.FAIL
    return wrong if passes else math.nan


def _looks_taken_together() -> float:
    rule = replace(VALUES, judgement=Judgement.EACH)
    release = beside([(values(3, 4), values(1, 2))] * 5)
    return releases.failing_look(rule, release, 5)


def _found_as_a_pass_says(rule: analysis.Rule) -> float:
    passed = judged(rule, counted((1, 100), (9, 900), looks=20))
    level = passed.numbers.detectable or math.nan
    return _found_at(rule, level, 100, 20, 200)


def _said_of_values() -> float:
    found = judged(VALUES, beside([(values(1, 3), values(2, 4))] * 20))
    return releases.share("of the pairs would have been found with 80 %" in found.sentence, 1)


def _least_requests() -> float:
    """Return after how many requests on canary a rule passes that asks for 5,000."""
    rule = replace(ERRORS, minimum_samples=5_000)

    def passes(looks: int) -> bool:
        return judged(rule, counted((1, 100), (9, 900), looks=looks)).result is Result.PASS

    return 100 * releases.first(range(10, 61), passes)


def _one_good_request() -> float:
    rule = replace(RANGE, expected=Range(minimum=99))
    return releases.share(judged(rule, alone([values(100.0)])).result is Result.PASS, 1)


WARM = replace(RANGE, warm_up=timedelta(minutes=5))


def _bad_warm_up() -> float:
    release = alone([BAD] * 5 + [GOOD] * 15)
    return releases.share(judged(WARM, release).result is Result.PASS, 1)


CLAIMS = (
    Claim(
        "the stage fails at once, without waiting for the end",
        "the third of twenty looks is bad",
        exactly(3, "looks"),
        _look_that_fails_at_once,
        is_quick=True,
    ),
    Claim(
        "`hold` (default) waits until the deadline and then fails",
        "no data; twenty looks, the deadline at forty",
        exactly(40, "looks"),
        _look_that_fails_held,
        is_quick=True,
    ),
    Claim(
        "`fail` counts it as a failed look",
        "no data, three failed looks are allowed, each by itself",
        exactly(4, "looks"),
        functools.partial(_empty_looks_until_failure, Judgement.EACH),
        is_quick=True,
    ),
    Claim(
        "`fail` counts it as a failed look",
        "the same, all together",
        exactly(4, "looks"),
        functools.partial(_empty_looks_until_failure, Judgement.SEQUENTIAL),
        is_quick=True,
    ),
    Claim(
        "`pass` lets it through and says so",
        "rules of six kinds without data",
        exactly(100, "% pass and say so"),
        _let_through_and_said,
        is_quick=True,
    ),
    *(
        Claim(
            "what exceeds one fails at once",
            f"two {name} looks are allowed, and all are",
            exactly(3, "looks"),
            functools.partial(_look_that_exceeds, name),
            is_quick=True,
        )
        for name in _limits()
    ),
    Claim(
        "Only failed looks and what all of them together show *condemn* a release",
        "36 releases that fail for want of data or answers",
        exactly(0, "are condemned"),
        _condemned_without_measurements,
        is_quick=True,
    ),
    Claim(
        "where clusters decide together, one that fails for want of answers goes by the others",
        "two healthy clusters, and one that fails by itself",
        exactly(3, "clusters pass"),
        _decided_without_answers,
        is_quick=True,
    ),
    Claim(
        "No answer, an error, an empty answer, NaN, infinities, a total of zero, or counts of three"
        " requests never pass by themselves.",
        "rules of six kinds, `hold` and `fail`, at the first look, the end and the deadline",
        exactly(0, "pass"),
        _silent_passes,
        is_quick=True,
    ),
    Claim(
        "A value outside the expected range fails its look, whatever the other series of the same"
        " answer say",
        "500 answers, NaN and infinities beside it",
        exactly(100, "% fail"),
        _outside_fails,
        is_quick=True,
    ),
    Claim(
        "`+Inf` is above any maximum",
        "the largest maximum there is",
        exactly(100, "% fail"),
        _infinity_fails,
        is_quick=True,
    ),
    Claim(
        "Otherwise a look with NaN or an infinity in it is inconclusive.",
        "500 answers",
        exactly(100, "% are inconclusive"),
        _rest_is_inconclusive,
        is_quick=True,
    ),
    Claim(
        "Passing under `hold` needs the last look to have data",
        "rules of six kinds, the last 1 to 9 of twenty looks without data",
        exactly(0, "pass"),
        _passes_without_the_last_look,
        is_quick=True,
    ),
    Claim(
        "and at least half of the planned ones",
        "rules of six kinds, the fewest of twenty looks that pass",
        exactly(10, "looks"),
        _least_looks_that_pass,
        is_quick=True,
    ),
    Claim(
        "At least one look has to be good.",
        "all looks with data are bad, twenty failures are allowed",
        exactly(0, "% pass"),
        functools.partial(_passes_of_bad_looks, Result.PASS),
        is_quick=True,
    ),
    Claim(
        "If all that could be judged failed, the release fails, even when `failureLimit` allows so"
        " many.",
        "1 to 20 bad looks, twenty failures are allowed",
        exactly(100, "% fail"),
        functools.partial(_passes_of_bad_looks, Result.FAIL),
        is_quick=True,
    ),
    *(
        Claim(
            "has to be one that would have been found with a chance of 80 %",
            f"11 % errors, {name}, in the least traffic that may pass, 200 releases",
            at_least(80, "% fail"),
            functools.partial(_plainly_bad_are_found, rule),
        )
        for name, rule in (("1 % beside it", ERRORS), ("1 % allowed", LIMIT))
    ),
    Claim(
        "of rates one with twice the events and one a second more",
        "in the least events that may pass, 200 releases",
        at_least(80, "% fail"),
        _rates_are_found,
    ),
    *(
        Claim(
            "Three requests against a thousand cannot",
            f"in {looks} looks, 0 to 99 errors on the other side",
            exactly(0, "pass"),
            functools.partial(_few_pass, 3, 1000, looks),
            is_quick=True,
        )
        for looks in (1, 3)
    ),
    Claim(
        "nor can one request against a limit",
        "limits from 0 to 50 %",
        exactly(0, "pass"),
        _one_passes_no_limit,
        is_quick=True,
    ),
    Claim(
        "nor can one request against a limit",
        "one a minute, ten minutes",
        exactly(0, "% pass"),
        releases.passed(LIMIT, traffic.Traffic(1 / 60, 0), duration=10 * releases.MINUTE),
    ),
    Claim(
        "Values have to be so many that one side wholly above the other would be found.",
        "1 to 12 values a side; sizes that pass and would not show that",
        exactly(0, "sizes"),
        _passes_of_values_that_show_nothing,
        is_quick=True,
    ),
    Claim(
        "A look that is too small takes those before it, until it can.",
        "two values a side, wholly above: 1/6 by itself, 1/36 with the look before",
        exactly(2, "looks"),
        _looks_taken_together,
        is_quick=True,
    ),
    *(
        Claim(
            "in the traffic there was, at least four of five would have failed",
            f"releases as bad as a pass says, 100 requests a look and 900, {name}, 200 releases",
            at_least(80, "% fail"),
            functools.partial(_found_as_a_pass_says, rule),
        )
        for name, rule in (("beside it", ERRORS), ("a limit of 1 %", LIMIT))
    ),
    Claim(
        "For values it is said in pairs",
        "two values a side, twenty looks",
        exactly(100, "% say so"),
        _said_of_values,
        is_quick=True,
    ),
    Claim(
        "`minSamples` asks for more",
        "5,000 asked for, 100 a look",
        exactly(5_000, "requests"),
        _least_requests,
        is_quick=True,
    ),
    Claim(
        "one good request makes a success rate of 100 %",
        "one look, at least 99 % expected",
        exactly(100, "% pass"),
        _one_good_request,
        is_quick=True,
    ),
    Claim(
        "What is measured during `warmUp` is kept and shown, and not judged.",
        "bad for the five minutes of warm-up, then good",
        exactly(100, "% pass"),
        _bad_warm_up,
        is_quick=True,
    ),
    Claim(
        "so the first one that counts comes a whole interval after the warm-up",
        "always bad, five minutes of warm-up: the look that fails it",
        exactly(6, "looks"),
        functools.partial(releases.failing_look, WARM, alone([BAD] * 20), 20),
        is_quick=True,
    ),
)
