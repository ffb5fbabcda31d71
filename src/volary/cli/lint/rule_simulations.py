"""What ``volary lint`` says of rules in the traffic that their file expects (`expectedTraffic`).

Releases are simulated as by ``volary analysis plan``, fewer of them, and each rule once however
many applications have it.
"""

import posixpath
from collections.abc import Iterator

from volary.analysis.planning import rule_doubts, rule_plans, traffic
from volary.cli.lint import manifest_checks
from volary.config.application import application_files, cluster_strategies
from volary.config.crosscheck import fleet_checks
from volary.model import analysis, applications, errors
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import live_traffic, measured_stages, variant_shares

#: Each takes a second or two.
_MOST_RULES = 20


def check(
    root: str, loaded: manifest_checks.LoadedFiles, members: fleets.Fleet | None
) -> Iterator[errors.Problem]:
    """Yield warnings about rules that would fail healthy releases, or miss bad ones."""
    simulated: set[str] = set()
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is None:
            continue
        manifests = manifest_checks.plain_manifests(described, root, posixpath.dirname(path))
        shares = variant_shares.of_stages(described, manifests)
        clusters = _clusters(described, members)
        for stage, options, rule, expected in _simulated(described):
            where = _place(loaded_file, described, stage, rule, options)
            try:
                rates = live_traffic.sides(rule, expected.rate, shares[stage])
            except errors.UserError as error:
                hint = "volary analysis plan --rate states what canary gets"
                message = f"{error.problems[0].message}: nothing is simulated"
                yield errors.Problem(message, where, hint, errors.Severity.WARNING)
                continue
            made = traffic.Traffic(*rates, errors=expected.errors)
            setting = rule_plans.Setting(made, options.duration, clusters)
            key = repr((rule, setting))
            if key not in simulated and len(simulated) >= _MOST_RULES:
                message = f"{rule.name} and what follows is not simulated: that would take long"
                hint = "lint fewer files at once, or see volary analysis plan"
                yield errors.Problem(message, where, hint, errors.Severity.WARNING)
                return
            simulated.add(key)
            for doubt in rule_doubts.doubts(rule, setting):
                message = f"{rule.name}: {doubt.message}"
                yield errors.Problem(message, where, doubt.hint, errors.Severity.WARNING)


def _clusters(described: applications.Application, members: fleets.Fleet | None) -> int:
    if members is None:
        return max(1, len(fleet_checks.named_targets(described)))
    return max(1, len(fleet_checks.deployment_targets(described, members)))


def _simulated(
    described: applications.Application,
) -> Iterator[tuple[str, waiting_stages.AnalysisOptions, analysis.Rule, analysis.ExpectedTraffic]]:
    for stage, options in measured_stages.find(described):
        for rule in options.metrics if options.expected_traffic is not None else ():
            assert options.expected_traffic is not None
            if not rule.dry_run and rule_plans.can_be_simulated(rule):
                yield stage, options, rule, options.expected_traffic


def _place(
    loaded: application_files.Loaded,
    described: applications.Application,
    stage: str,
    rule: analysis.Rule,
    options: waiting_stages.AnalysisOptions,
) -> errors.Location:
    """Return where a metric is written."""
    if loaded.document is None:
        return errors.NOWHERE
    metric = ("metrics", options.metrics.index(rule))
    if described.strategies:
        return loaded.document.where(cluster_strategies.PATH)
    for each in described.pipeline:
        if measured_stages.stage_name(each) == stage:
            of_stage = (*loaded.base, "pipeline", "stages", each.index, "with")
            return loaded.document.where((*of_stage, *metric))
    for number, wave in enumerate(described.waves.waves):
        if wave.gate.analysis is options:
            of_gate = ("spec", "waves", number, "gate", "analysis")
            return loaded.document.where((*of_gate, *metric))
    return errors.NOWHERE
