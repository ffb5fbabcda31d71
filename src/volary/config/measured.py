"""The metrics of an application compared with the systems there are to be asked."""

from collections.abc import Iterator

from volary.config import shape, strategies, yaml
from volary.model import analysis, application, fleet, problem, provider, stage

Finding = tuple[yaml.Path, str, str, problem.Severity]
_ERROR, _WARNING = problem.Severity.ERROR, problem.Severity.WARNING
_HINT = "list it in analysisProviders of the fleet file or of the controller's settings"


def findings(app: application.Application, clusters: fleet.Fleet) -> Iterator[Finding]:
    """Yield every metric that nobody can be asked for.

    Without any provider it is a warning: the metrics are inconclusive then, which is not passed
    over either.
    """
    for each in app.pipeline:
        for path, rule in _rules(each):
            where = (*strategies.where(app, each), *path)
            found = _problem(rule, clusters.providers)
            if found is not None:
                message, hint, severity = found
                yield (*where, "provider"), f"{rule.name}: {message}", hint, severity


def _rules(each: stage.Stage) -> Iterator[tuple[yaml.Path, analysis.Rule]]:
    """Yield the metrics of a stage with the path of each."""
    options = each.options
    lists: dict[yaml.Path, tuple[analysis.Rule, ...]] = {}
    if isinstance(options, stage.AnalysisOptions | stage.ProgressiveTrafficOptions):
        lists[("with", "metrics")] = options.metrics
    elif isinstance(options, stage.BlueGreenOptions):
        for name, checks in (
            ("prePromotion", options.pre_promotion),
            ("postPromotion", options.post_promotion),
        ):
            lists[("with", name, "metrics")] = checks.metrics if checks else ()
    if each.beside is not None:
        lists[("analysis", "metrics")] = each.beside.metrics
    for path, rules in lists.items():
        yield from (((*path, i), rule) for i, rule in enumerate(rules))


def _problem(
    rule: analysis.Rule, providers: tuple[provider.Provider, ...]
) -> tuple[str, str, problem.Severity] | None:
    if not providers:
        return "there is nobody to ask, no analysisProviders are listed", _HINT, _WARNING
    names = [each.name for each in providers]
    if not rule.provider and len(providers) > 1:
        hint = f"write provider: {' or '.join(names)}"
        return "names no provider, and there are several", hint, _ERROR
    found = [each for each in providers if rule.provider in ("", each.name)]
    if not found:
        message = f"there is no provider {rule.provider}"
        return message, shape.did_you_mean(rule.provider, names), _ERROR
    if rule.built_in and found[0].type is not provider.ProviderType.PROMETHEUS:
        message = f"is built in for Prometheus only, and {found[0].name} is {found[0].type.value}"
        return message, "write its query", _ERROR
    return None
