"""``volary analysis plan``: how the rules of a file would do in some traffic, simulated."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from volary.analysis.planning import rule_plans, traffic
from volary.cli import console, exit_codes, forms
from volary.cli.analysis import asked_clusters
from volary.cli.local import inputs as local_inputs
from volary.cli.remote import output
from volary.controller import inputs, system_clock
from volary.controller.planning import opened_applications, preparation
from volary.manifests import redaction
from volary.model import analysis, applications, errors, json, phrases
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import live_traffic, measured_stages, variant_shares

#: Where nothing is stated and there is nobody to be asked: requests a second, share of errors.
_RATE, _ERRORS = 10.0, 0.01
#: Where a stage takes as long as it takes.
_LOOKS = 10
#: All simulated looks together; more clusters or looks are simulated less often.
_MOST_LOOKS, _FEWEST_RUNS = 40_000, 20


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is simulated."""

    inputs: preparation.RunOptions
    #: Requests a second that canary gets, and the other side; None: measured where there is a
    #: fleet, or else `_RATE`, and as many.
    rate: float | None = None
    other_rate: float | None = None
    #: Share of the requests that fails anyway; None: measured likewise, or `traffic.Traffic`'s.
    errors: float | None = None
    scatter: float = 0.5
    overdispersion: float = 0.0
    autocorrelation: float = 0.0
    #: None: those of the fleet, or one.
    clusters: int | None = None
    runs: int = 200

    @property
    def is_measured(self) -> bool:
        """Whether the traffic is asked for."""
        return bool(self.inputs.fleet) and self.rate is None

    def made(self, canary: float, other: float, errors: float | None = None) -> traffic.Traffic:
        """Return the traffic of a cluster with these rates; what is stated wins."""
        known = self.errors if self.errors is not None else errors
        return traffic.Traffic(
            canary=canary,
            other=other if self.other_rate is None else self.other_rate,
            errors=_ERRORS if known is None else known,
            scatter=self.scatter,
            overdispersion=self.overdispersion,
            autocorrelation=self.autocorrelation,
        )


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule would do."""

    stage: str
    metric: str
    duration: timedelta
    looks: int
    runs: int
    outcomes: tuple[rule_plans.Outcome, ...]
    by_cluster: rule_plans.ByCluster
    #: What buckets cannot tell; empty: nothing is said.
    words: str = ""

    def as_document(self) -> json.JsonObject:
        """Return it for programs: shares, and seconds."""
        return {
            "stage": self.stage,
            "metric": self.metric,
            "durationSeconds": self.duration.total_seconds(),
            "looks": self.looks,
            "runs": self.runs,
            "traffic": {target: asdict(own) for target, own in self.by_cluster.items()},
            "buckets": self.words,
            "falseAlarms": self.outcomes[0].failed,
            "outcomes": [
                {
                    "effect": outcome.effect,
                    "failed": outcome.failed,
                    "passed": outcome.passed,
                    "inconclusive": outcome.unknown,
                    "foundAfterSeconds": outcome.found_after
                    and outcome.found_after.total_seconds(),
                }
                for outcome in self.outcomes
            ],
        }


async def run(request: PlanRequest, form: forms.Form) -> int:
    """Simulate releases for every metric of a file, and show what would become of them.

    Raises:
        errors.UserError: The traffic was to be measured, and some of it is not known.
    """
    if request.inputs.fleet:
        asked = await asked_clusters.open_clusters(request.inputs)
        application = asked.opened.application
        if request.is_measured:
            seen = await _measured(request, asked)
        else:
            seen = _stated(request, application, list(asked.manifests.values()))
    else:
        opened = await opened_applications.open_application(request.inputs.path)
        console.show_problems(console.messages(), opened.warnings)
        application = opened.application
        manifests = await local_inputs.undivided(opened, [""])
        seen = _stated(request, application, list(manifests.values()))
    plans = list(_plans(application, request, seen))
    left_out = _left_out(application)
    if form.is_document:
        document: json.JsonObject = {
            "isMeasured": request.is_measured,
            "metrics": [plan.as_document() for plan in plans],
            "notSimulated": left_out,
        }
        output.show(document, form)
    elif plans:
        console.write_lines(_table(plans))
        if request.is_measured:
            console.write_lines(_traffic_table(plans))
        console.write_lines(_sentences(plans, request))
    elif not left_out:
        console.write_text("no stage of the application measures anything")
    if left_out and not form.is_document:
        console.write_text(
            f"not simulated, as traffic says nothing about it: {', '.join(left_out)}"
        )
    return exit_codes.Exit.DONE


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a rule sees of a release."""

    by_cluster: rule_plans.ByCluster
    #: As it is judged there.
    rule: analysis.Rule
    #: What is to be said of it.
    words: str = ""


#: Gives what a rule of a stage sees.
_Sight = Callable[[str, waiting_stages.AnalysisOptions, analysis.Rule], _Seen]


def _stated(
    request: PlanRequest,
    application: applications.Application,
    manifests: Sequence[Sequence[manifest.Manifest]],
) -> _Sight:
    """Go by what the command states, else by what the file does; clusters are all alike."""
    shares = variant_shares.of_stages(application, manifests[0] if manifests else ())
    clusters = request.clusters or max(1, len(manifests))

    def seen(stage: str, options: waiting_stages.AnalysisOptions, rule: analysis.Rule) -> _Seen:
        expected, rate = options.expected_traffic, request.rate
        if rate is not None or expected is None:
            rate = _RATE if rate is None else rate
            made = request.made(rate, rate)
        else:
            sides = live_traffic.sides(rule, expected.rate, shares[stage])
            made = request.made(*sides, expected.errors)
        return _Seen({f"cluster-{number}": made for number in range(clusters)}, rule)

    return seen


async def _measured(request: PlanRequest, asked: asked_clusters.AskedClusters) -> _Sight:
    """Ask what the application gets now, and divide it as its pipeline does."""
    if request.clusters is not None:
        raise errors.user_error(
            "--clusters says how many are alike, and the clusters of the fleet are measured",
            hint="leave it out, or state the traffic: --rate",
        )
    if not asked.names:
        raise errors.user_error(
            "no cluster of the fleet is the application's", hint="state the traffic: --rate"
        )
    application, clock = asked.opened.application, system_clock.SystemClock()
    shares = {
        target: variant_shares.of_stages(application, manifests)
        for target, manifests in asked.manifests.items()
    }
    found: dict[tuple[str, str], _Seen] = {}
    masker = redaction.Masker()
    async with inputs.open_meter(asked.members.providers, clock=clock, learn=masker.add) as meter:
        asks = live_traffic.LiveTraffic(application, asked.names, meter, clock)
        for stage, _, rule in _simulated(application):
            try:
                rates = await asks.rates(rule)
            except errors.UserError as error:
                raise errors.UserError(
                    *(replace(it, message=masker.clean(it.message)) for it in error.problems)
                ) from None
            by_cluster: dict[str, traffic.Traffic] = {}
            for target, rate in rates.items():
                own = live_traffic.sides(rule, rate.per_second, shares[target][stage])
                if rule.kind is analysis.Kind.RATE:
                    # Events were counted: as many requests as have so many errors.
                    part = request.errors or _ERRORS
                    own = (own[0] / part, own[1] / part)
                by_cluster[target] = request.made(*own, rate.errors)
            judged, words = await asks.resolved(rule)
            found[stage, rule.name] = _Seen(by_cluster, judged, words)
    return lambda stage, _options, rule: found[stage, rule.name]


def _left_out(application: applications.Application) -> list[str]:
    """Return the metrics that do not depend on traffic, each with its stage."""
    return [
        f"{rule.name} of {stage}"
        for stage, options in measured_stages.find(application)
        for rule in options.metrics
        if not rule_plans.can_be_simulated(rule)
    ]


def _simulated(
    application: applications.Application,
) -> Iterator[tuple[str, waiting_stages.AnalysisOptions, analysis.Rule]]:
    for stage, options in measured_stages.find(application):
        for rule in options.metrics:
            if not rule.dry_run and rule_plans.can_be_simulated(rule):
                yield stage, options, rule


def _plans(
    application: applications.Application, request: PlanRequest, seen: _Sight
) -> Iterator[RulePlan]:
    for stage, options, rule in _simulated(application):
        sight = seen(stage, options, rule)
        by_cluster = sight.by_cluster
        duration = options.duration or rule.unjudged + _LOOKS * rule.interval
        looks = max(1, int((duration - rule.unjudged) / rule.interval))
        most = _MOST_LOOKS // (looks * max(1, len(by_cluster)))
        runs = min(request.runs, max(_FEWEST_RUNS, most))
        first = next(iter(by_cluster.values()))
        setting = rule_plans.Setting(first, duration, runs=runs, differing=by_cluster)
        outcomes = rule_plans.outcomes(sight.rule, setting)
        yield RulePlan(stage, rule.name, duration, looks, runs, outcomes, by_cluster, sight.words)


def _table(plans: Sequence[RulePlan]) -> Iterator[str]:
    effects = [f"{effect:g}x" for effect in rule_plans.EFFECTS[1:]]
    rows = [["STAGE", "METRIC", "LOOKS", "FALSE ALARMS", *effects]]
    for plan in plans:
        healthy, *worse = plan.outcomes
        looks, share = str(plan.looks), _share(healthy.failed)
        rows.append([plan.stage, plan.metric, looks, share, *map(_found, worse)])
    return console.aligned(rows)


def _found(outcome: rule_plans.Outcome) -> str:
    if outcome.found_after is None:
        return _share(outcome.failed)
    return f"{_share(outcome.failed)} {phrases.duration(outcome.found_after)}"


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def _traffic_table(plans: Sequence[RulePlan]) -> Iterator[str]:
    """Show what was measured, once for metrics that see the same."""
    rows = [["STAGE", "CLUSTER", "CANARY", "OTHER SIDE", "ERRORS", "OF"]]
    told: dict[tuple[str, str, traffic.Traffic], list[str]] = {}
    for plan in plans:
        for target, own in plan.by_cluster.items():
            told.setdefault((plan.stage, target, own), []).append(plan.metric)
    for (stage, target, own), metrics in told.items():
        sides = (f"{own.canary:.4g}/s", f"{own.other:.4g}/s", f"{100 * own.errors:.3g} %")
        rows.append([stage, target, *sides, ", ".join(metrics)])
    return console.aligned(rows)


def _sentences(plans: Sequence[RulePlan], request: PlanRequest) -> Iterator[str]:
    by_cluster, runs = plans[0].by_cluster, min(plan.runs for plan in plans)
    made = next(iter(by_cluster.values()))
    if request.is_measured:
        seen = "what primary gets now, divided as the pipeline does"
    elif len({own for plan in plans for own in plan.by_cluster.values()}) > 1:
        seen = "the traffic that is expected, divided as the pipeline does"
    else:
        seen = f"canary {made.canary:g} and the other side {made.other:g} requests a second"
        seen += f", {100 * made.errors:g} % errors"
    yield (
        f"simulated: {phrases.count(len(by_cluster), 'cluster')}, {seen};"
        f" {runs} releases or more each; found: share, and when half of those were"
    )
    for stage, same in itertools.groupby(plans, lambda plan: plan.stage):
        passing = 1.0
        for plan in same:
            passing *= 1 - plan.outcomes[0].failed
            if plan.words:
                yield f"{stage}: {plan.metric}: {plan.words}"
            if plan.outcomes[0].unknown > 0:
                unknown = _share(plan.outcomes[0].unknown)
                yield f"{stage}: {plan.metric} sees too little to let {unknown} of them pass"
        yield f"{stage}: fails {_share(1 - passing)} of healthy releases"
