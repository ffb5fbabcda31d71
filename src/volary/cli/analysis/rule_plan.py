"""``volary analysis plan``: how the rules of a file would do in some traffic, simulated."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from volary.analysis.planning import rule_plans, traffic
from volary.cli import console, exit_codes, forms
from volary.cli.remote import output
from volary.controller.planning import opened_applications
from volary.model import applications, json, phrases
from volary.stages.judgement import metric_trials

#: Where a stage takes as long as it takes.
_LOOKS = 10
#: All simulated looks together; more clusters or looks are simulated less often.
_MOST_LOOKS, _FEWEST_RUNS = 40_000, 20


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is simulated."""

    path: str
    traffic: traffic.Traffic
    clusters: int = 1
    runs: int = 200


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule would do."""

    stage: str
    metric: str
    duration: timedelta
    looks: int
    runs: int
    outcomes: tuple[rule_plans.Outcome, ...]

    def as_document(self) -> json.JsonObject:
        """Return it for programs: shares, and seconds."""
        return {
            "stage": self.stage,
            "metric": self.metric,
            "durationSeconds": self.duration.total_seconds(),
            "looks": self.looks,
            "runs": self.runs,
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
    """Simulate releases for every metric of a file, and show what would become of them."""
    opened = await opened_applications.open_application(request.path)
    console.show_problems(console.messages(), opened.warnings)
    plans = list(_plans(opened.application, request))
    left_out = _left_out(opened.application)
    if form.is_document:
        output.show(
            {
                "traffic": asdict(request.traffic),
                "clusters": request.clusters,
                "metrics": [plan.as_document() for plan in plans],
                "notSimulated": left_out,
            },
            form,
        )
    elif plans:
        console.write_lines(_table(plans))
        console.write_lines(_sentences(plans, request))
    elif not left_out:
        console.write_text("no stage of the application measures anything")
    if left_out and not form.is_document:
        console.write_text(
            f"not simulated, as traffic says nothing about it: {', '.join(left_out)}"
        )
    return exit_codes.Exit.DONE


def _left_out(application: applications.Application) -> list[str]:
    """Return the metrics that do not depend on traffic, each with its stage."""
    return [
        f"{rule.name} of {stage}"
        for stage, options in metric_trials.measured_stages(application)
        for rule in options.metrics
        if rule.is_of_cluster
    ]


def _plans(application: applications.Application, request: PlanRequest) -> Iterator[RulePlan]:
    for stage, options in metric_trials.measured_stages(application):
        for rule in options.metrics:
            if rule.dry_run or rule.is_of_cluster:
                continue
            duration = options.duration or rule.unjudged + _LOOKS * rule.interval
            looks = max(1, int((duration - rule.unjudged) / rule.interval))
            most = _MOST_LOOKS // (looks * request.clusters)
            runs = min(request.runs, max(_FEWEST_RUNS, most))
            setting = rule_plans.Setting(request.traffic, duration, request.clusters, runs)
            outcomes = rule_plans.outcomes(rule, setting)
            yield RulePlan(stage, rule.name, duration, looks, runs, outcomes)


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


def _sentences(plans: Sequence[RulePlan], request: PlanRequest) -> Iterator[str]:
    made, runs = request.traffic, min(plan.runs for plan in plans)
    yield (
        f"simulated: {phrases.count(request.clusters, 'cluster')}, canary {made.canary:g} and"
        f" the other side {made.other:g} requests a second, {100 * made.errors:g} % errors;"
        f" {runs} releases or more each; found: share, and when half of those were"
    )
    for stage, same in itertools.groupby(plans, lambda plan: plan.stage):
        passing = 1.0
        for plan in same:
            passing *= 1 - plan.outcomes[0].failed
            if plan.outcomes[0].unknown > 0:
                unknown = _share(plan.outcomes[0].unknown)
                yield f"{stage}: {plan.metric} sees too little to let {unknown} of them pass"
        yield f"{stage}: fails {_share(1 - passing)} of healthy releases"
