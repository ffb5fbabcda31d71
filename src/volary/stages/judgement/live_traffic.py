"""What traffic an application gets now, asked of the systems that keep its metrics."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.analysis.metering import meters, query_names, query_templates
from volary.analysis.verdicts import bucket_bounds
from volary.model import analysis, applications, clocks, errors
from volary.model.analysis import Deviation, Kind, Reading, Role, Strategy
from volary.model.pipeline import variant
from volary.stages.judgement import cluster_judges, measured_stages, variant_shares

#: What is asked about where a query leaves it open; a single minute may be an odd one.
_WINDOW = timedelta(minutes=10)
#: Requests from which on their share of errors says something.
_ENOUGH_FOR_ERRORS = 1000
_HINT = "--rate states what canary gets, and nobody is asked"


@dataclass(frozen=True, slots=True)
class Rate:
    """What a rule counts of primary on one cluster."""

    #: Requests per second; of `Kind.RATE` events.
    per_second: float
    #: The share of the requests that fails; None: the rule counts none, or too few to tell.
    errors: float | None = None


@dataclass(frozen=True, slots=True)
class LiveTraffic:
    """Asks what the rules of an application would count."""

    application: applications.Application
    #: Names of what belongs to it, by cluster.
    names: Mapping[str, query_names.Names]
    meter: meters.Meter
    clock: clocks.Clock

    async def rates(self, rule: analysis.Rule) -> dict[str, Rate]:
        """Return what primary gets on each cluster.

        A rule that counts is asked itself. What others rest on is counted by the first metric of
        the application that counts requests, or else at its router.

        Raises:
            errors.UserError: Some clusters' are not known; each is named.
        """
        asked = self._counting(rule)
        answers = await asyncio.gather(*(self._ask(asked, target) for target in self.names))
        unknown = [
            errors.Problem(
                f"{rule.name} on {answer.target}: its traffic cannot be measured:"
                f" {answer.message or 'the answer says nothing'}",
                hint=_HINT,
            )
            for answer in answers
            if answer.reading is not Reading.VALUES or not answer.values
        ]
        if unknown:
            raise errors.UserError(*errors.hints_once(unknown))
        return {answer.target: _rate(asked, answer) for answer in answers}

    async def resolved(self, rule: analysis.Rule) -> tuple[analysis.Rule, str]:
        """Return a rule as primary's buckets have it judged, and words about them.

        A quantile of a histogram cannot tell what is within a bucket. Others, and what is not
        known, are as they are.
        """
        if cluster_judges.compared_quantile(rule) is None:
            return rule, ""
        known = []
        for target in self.names:
            roles = (Role.REFERENCE, Role.BUCKET)
            answers = await asyncio.gather(*(self._ask(rule, target, role) for role in roles))
            at = answers[0].time
            known.append(analysis.Series(at, at, at, target, tuple(answers)))
        found = bucket_bounds.resolved(rule, known)
        return found, bucket_bounds.words(found, known).removeprefix("; ")

    def _counting(self, rule: analysis.Rule) -> analysis.Rule:
        found = rule if rule.kind is not Kind.VALUE else self._of_requests(rule)
        if cluster_judges.is_of_any_interval(found):
            return replace(found, interval=max(_WINDOW, found.interval))
        return found

    def _of_requests(self, rule: analysis.Rule) -> analysis.Rule:
        for _, options in measured_stages.find(self.application):
            for other in options.metrics:
                if other.kind is Kind.PROPORTION:
                    return other
        name = query_templates.ERRORS
        return replace(rule, kind=Kind.PROPORTION, built_in=name, query="", total_query="")

    async def _ask(
        self, rule: analysis.Rule, target: str, role: Role = Role.REFERENCE
    ) -> analysis.Measurement:
        now = self.clock.now()
        return await self.meter.measure(
            meters.Question(
                rule=rule,
                application=self.application,
                target=target,
                names=self.names[target],
                side=variant.Variant.PRIMARY,
                role=role,
                time=now,
                until=now - rule.delay,
            )
        )


def _rate(rule: analysis.Rule, answer: analysis.Measurement) -> Rate:
    seconds = rule.interval.total_seconds()
    events, requests = sum(answer.values), sum(answer.totals)
    if rule.kind is Kind.RATE:
        return Rate(events / seconds)
    if requests < _ENOUGH_FOR_ERRORS:
        return Rate(requests / seconds)
    counts_good = rule.strategy.compares and rule.deviation is Deviation.LOW
    share = min(1.0, max(0.0, events / requests))
    return Rate(requests / seconds, 1 - share if counts_good else share)


def sides(rule: analysis.Rule, rate: float, shares: variant_shares.Shares) -> tuple[float, float]:
    """Return what the new version and the other side of a rule get of primary's rate.

    Raises:
        errors.UserError: Nobody can tell before a release.
    """
    if shares.unknown:
        raise errors.user_error(
            f"{rule.name}: {shares.unknown}, so its rate is not known", hint=_HINT
        )
    match rule.strategy:
        case Strategy.CANARY_BASELINE:
            return rate * shares.canary, rate * shares.baseline
        case Strategy.CANARY_PRIMARY | Strategy.CANARY_BASELINE_PRIMARY:
            return rate * shares.canary, rate * shares.primary
        case Strategy.PREVIOUS | Strategy.NOT_UPDATED:
            return rate, rate
        case Strategy.THRESHOLD:
            # The other side is what was before, all of it.
            return rate * shares.canary, rate
