"""An application compared with the fleet it shall be deployed to."""

from collections.abc import Iterable, Iterator, Sequence, Set

from volary.config.application import cluster_strategies
from volary.config.crosscheck import eligibility, metric_providers
from volary.config.decoding import readings
from volary.config.fleet import cluster_properties
from volary.config.text import yaml
from volary.model import applications, errors
from volary.model import metric_providers as model_metric_providers
from volary.model.fleet import fleets, selectors
from volary.model.pipeline import pipelines
from volary.model.placement import overrides, rollouts


def against_fleet(
    app: applications.Application,
    clusters: fleets.Fleet,
    *,
    document: yaml.Document | None = None,
    base: yaml.Path = ("spec",),
) -> tuple[errors.Problem, ...]:
    """Return what is wrong when `app` is deployed to this fleet.

    Unknown cluster names, labels that choose no cluster, and stages left with no
    cluster are errors in both dialects (PipeCD ignores all of them). Clusters that
    ``input.multiTargets`` leaves out are a warning, suspended ones too.

    Args:
        app: The application.
        clusters: The fleet.
        document: The application's file, to name lines.
        base: Where its Kubernetes part is, see `application_files`.
    """
    of_metrics = metric_providers.findings(app, clusters, deployment_targets(app, clusters))
    yielded = (*_findings(app, clusters, base), *of_metrics)
    return _problems(yielded, document)


def against_providers(
    app: applications.Application,
    providers: Sequence[model_metric_providers.Provider],
    *,
    document: yaml.Document | None = None,
) -> tuple[errors.Problem, ...]:
    """Return which metrics find nothing at the systems that would be asked."""
    return _problems(metric_providers.provider_findings(app, providers), document)


def selected_clusters(
    app: applications.Application, clusters: fleets.Fleet
) -> tuple[fleets.Cluster, ...]:
    """Return the clusters the target selector chooses, suspended ones too, in fleet order."""
    return tuple(
        cluster for cluster in clusters.clusters if selectors.matches(app.targets, cluster)
    )


def deployment_targets(
    app: applications.Application, clusters: fleets.Fleet
) -> tuple[fleets.Cluster, ...]:
    """Return the chosen clusters that ``input.multiTargets`` leaves (PipeCD: Resolve).

    Unlike PipeCD, in the order of the fleet.
    """
    entries = {multi_target.target.name for multi_target in app.input.multi_targets}
    selected = selected_clusters(app, clusters)
    return (
        tuple(cluster for cluster in selected if cluster.name in entries) if entries else selected
    )


def named_targets(app: applications.Application) -> tuple[str, ...]:
    """Return the clusters that an application is sent to by name, whether there are such or not."""
    entries = (entry.target.name for entry in app.input.multi_targets)
    return (*app.targets.names, *entries)


_Finding = metric_providers.Finding
_ERROR, _WARNING = errors.Severity.ERROR, errors.Severity.WARNING
_OVERRIDES: yaml.Path = ("spec", "placement", "overrides")
#: PipeCD's plugin that takes one of its deploy targets.
_ONE_TARGET = "kubernetes"
_WEIGHTS: yaml.Path = ("spec", "placement", "replicas", "weights")


def _findings(
    app: applications.Application, clusters: fleets.Fleet, base: yaml.Path
) -> Iterator[_Finding]:
    yield from _unknown_names(app, clusters, base)
    yield from _of_plugins(app, clusters, base)
    selected = selected_clusters(app, clusters)
    if not selected and not app.targets.names:
        yield ("spec", "targets"), _no_targets(app, clusters), "", _ERROR
        return
    yield from _left_out(app, clusters, selected, base)
    targets = deployment_targets(app, clusters)
    suspended = [target.name for target in targets if target.suspended]
    if suspended:
        yield (), f"not deployed to {_names(suspended)}: suspended in the fleet", "", _WARNING
    yield from _tainted(app, targets)
    active = [target for target in targets if not eligibility.exclusion_reason(app, target)]
    if not active:
        path = (*base, "input", "multiTargets") if app.input.multi_targets else ("spec", "targets")
        yield path, "no cluster is left to deploy to", "", _ERROR
        return
    yield from _unfit_overrides(app, clusters, active)
    yield from _nowhere_to_go(app)
    yield from _without_strategy(app, active)
    yield from _empty_stages(app, clusters, {target.name for target in active}, base)


def _of_plugins(
    app: applications.Application, clusters: fleets.Fleet, base: yaml.Path
) -> Iterator[_Finding]:
    """Deploy targets belong to a plugin; which of them PipeCD has for an application is in no file.

    Its plugin for one cluster takes one of them.
    """
    plugins = sorted({plugin for cluster in clusters.clusters for plugin in cluster.plugins})
    own = app.targets.plugin
    if app.dialect is not applications.Dialect.PIPECD or not plugins:
        return
    if not own and len(plugins) > 1:
        text = f"whose deploy targets it goes to is not said: those of {' or of '.join(plugins)}"
        yield ("spec", "plugins"), text, f"write spec.plugins.{plugins[-1]}: {{}}", _ERROR
        return
    targets = [cluster.name for cluster in deployment_targets(app, clusters) if cluster.plugins]
    is_chosen = app.input.multi_targets or app.targets != applications.TargetSelector(plugin=own)
    if is_chosen or len(targets) < 2:
        return
    hint = "name those that are meant: input.multiTargets: [{target: {name: …}}]"
    if own == _ONE_TARGET:
        text = f"{own} deploys to one target, and the fleet has {_names(targets)}"
        yield (*base, "input", "multiTargets"), text, hint, _ERROR
    else:
        text = f"goes to every deploy target of {own or plugins[0]}: {_names(targets)}"
        yield (*base, "input", "multiTargets"), text, hint, _WARNING


def _no_targets(app: applications.Application, clusters: fleets.Fleet) -> str:
    if not clusters.clusters:
        return "the fleet is empty"
    labels = ", ".join(f"{key}={value}" for key, value in app.targets.match_labels.items())
    if labels and app.targets == applications.TargetSelector(match_labels=app.targets.match_labels):
        return f"no cluster of the fleet has the labels {labels}"
    first = clusters.clusters[0]
    reason = selectors.mismatch(app.targets, first)
    return f"no cluster of the fleet is chosen; {first.name}: {reason}"


def _limits(
    app: applications.Application, base: yaml.Path
) -> Iterator[tuple[yaml.Path, tuple[str, ...]]]:
    """Yield every list of cluster names that limits something."""
    if app.quick_sync_targets:
        yield (*base, "quickSync", "multiTargets"), app.quick_sync_targets
    for stage in app.pipeline:
        if stage.targets:
            yield (*cluster_strategies.where(app, stage), "with", "multiTargets"), stage.targets


def _unknown_names(
    app: applications.Application, clusters: fleets.Fleet, base: yaml.Path
) -> Iterator[_Finding]:
    named = list(_of_selector(app.targets, ("spec", "targets")))
    for i, entry in enumerate(app.input.multi_targets):
        named.append(((*base, "input", "multiTargets", i, "target", "name"), entry.target.name))
    for i, strategy in enumerate(app.strategies):
        named += _of_selector(strategy.targets, (*cluster_strategies.PATH, i, "targets"))
    for i, wave in enumerate(app.waves.waves):
        named += _of_selector(wave.targets, ("spec", "waves", i, "targets"))
    for key, listed_windows in (
        ("allow", app.waves.windows.allow),
        ("deny", app.waves.windows.deny),
    ):
        for i, window in enumerate(listed_windows):
            named += _of_selector(window.selector, ("spec", "windows", key, i, "targets"))
    for path, names in _limits(app, base):
        named += [((*path, i), name) for i, name in enumerate(names)]
    yield from _unknown(named, clusters, _ERROR)


def _unknown(
    named: Iterable[tuple[yaml.Path, str]], clusters: fleets.Fleet, severity: errors.Severity
) -> Iterator[_Finding]:
    for path, name in named:
        if name not in clusters.names:
            hint = readings.did_you_mean(name, clusters.names)
            yield path, f"unknown target {name}: the fleet has no such cluster", hint, severity


def _of_selector(
    selector: rollouts.ClusterSelector | None, path: yaml.Path
) -> Iterator[tuple[yaml.Path, str]]:
    """Yield the names a selector has, and where they are written."""
    if selector is not None:
        for key, names in (("names", selector.names), ("exclude", selector.exclude)):
            yield from (((*path, key, place), name) for place, name in enumerate(names))


def _unfit_overrides(
    app: applications.Application, clusters: fleets.Fleet, targets: Sequence[fleets.Cluster]
) -> Iterator[_Finding]:
    """Yield what does not fit: names nobody has, what is for no target, properties that lack."""
    # Policies of Karmada's are often shared by many applications and fleets.
    is_theirs = app.dialect is applications.Dialect.KARMADA
    severity = _WARNING if is_theirs else _ERROR
    for path, selector in _override_selectors(app.differences):
        unknown = list(_unknown(_of_selector(selector, path), clusters, severity))
        yield from unknown
        if not unknown and not any(selectors.matches(selector, target) for target in targets):
            yield path, "none of the application's clusters is chosen", "", _WARNING
    for place, rule in enumerate(app.differences.rules):
        yield from _absent_properties(rule, targets, (*_OVERRIDES, place))


def _override_selectors(
    wanted: overrides.Differences,
) -> Iterator[tuple[yaml.Path, rollouts.ClusterSelector]]:
    for place, rule in enumerate(wanted.rules):
        yield (*_OVERRIDES, place, "targets"), rule.targets
    for place, weight in enumerate(wanted.replicas.weights):
        yield (*_WEIGHTS, place, "targets"), weight.targets


def _absent_properties(
    rule: overrides.Rule, targets: Iterable[fleets.Cluster], path: yaml.Path
) -> Iterator[_Finding]:
    lacking: dict[str, list[str]] = {}
    written = [text for override in rule.overrides for text in _texts(override)]
    for cluster in targets:
        if selectors.matches(rule.targets, cluster):
            for word in dict.fromkeys(
                word for text in written for word in cluster_properties.absent(text, cluster)
            ):
                lacking.setdefault(word, []).append(cluster.name)
    for word, names in lacking.items():
        verb = "has" if len(names) == 1 else "have"
        text = f"{', '.join(names)} {verb} no {word}, which the override asks for"
        hint = "write it in the fleet file, or limit the override with targets"
        yield path, text, hint, _ERROR


def _texts(change: overrides.Override) -> Iterator[str]:
    """Yield the texts in which a cluster's properties are filled in."""
    match change:
        case overrides.ImageOverride() | overrides.PatchOverride():
            written: object = change.value
        case overrides.FieldOverride():
            written = [patch.value for patch in change.patches]
        case _:
            written = change.value
    yield from (text for _, text in cluster_properties.texts(written))


def _left_out(
    app: applications.Application,
    clusters: fleets.Fleet,
    selected: tuple[fleets.Cluster, ...],
    base: yaml.Path,
) -> Iterator[_Finding]:
    if not app.input.multi_targets:
        return
    path = (*base, "input", "multiTargets")
    entries = {multi_target.target.name for multi_target in app.input.multi_targets}
    left_out = [cluster.name for cluster in selected if cluster.name not in entries]
    if left_out and app.targets.plugin != _ONE_TARGET:
        text = f"not deployed to {_names(left_out)}: multiTargets has no entry for it"
        yield path, text, "add an entry with the target's name", _WARNING
    # An unknown name is told already.
    unselected = (entries & set(clusters.names)) - {cluster.name for cluster in selected}
    if unselected and app.targets != applications.TargetSelector():
        text = f"the entry for {_names(sorted(unselected))} has no effect: targets leaves it out"
        if app.targets.plugin:
            text = f"{_names(sorted(unselected))}: not a deploy target of {app.targets.plugin}"
            yield path, text, "name its own targets", _ERROR
        else:
            yield path, text, "", _WARNING


def _tainted(
    app: applications.Application, targets: Iterable[fleets.Cluster]
) -> Iterator[_Finding]:
    for target in targets:
        reason = eligibility.exclusion_reason(app, target)
        if reason and not target.suspended:
            yield (), f"not deployed to {target.name}: {reason}", "", _WARNING


def _nowhere_to_go(app: applications.Application) -> Iterator[_Finding]:
    """An application that is on all of its targets anyway cannot move to another one."""
    is_divided = app.differences.replicas.division is overrides.Division.DIVIDED
    if app.failover is not None and not app.spread and not is_divided:
        text = "nothing can move: every cluster of the targets has all replicas"
        hint = "add placement.spread, or write division: Divided under placement.replicas"
        yield ("spec", "placement", "failover"), text, hint, _WARNING


def _without_strategy(
    app: applications.Application, active: Sequence[fleets.Cluster]
) -> Iterator[_Finding]:
    if not app.strategies:
        return
    assigned = cluster_strategies.assign(app, active)
    taken = {name for members in assigned.values() for name in members}
    left = [cluster.name for cluster in active if cluster.name not in taken]
    if left:
        hint = "add a last strategy without targets, or limit the application's own targets"
        yield cluster_strategies.PATH, f"no strategy matches {_names(left)}", hint, _ERROR
    for i, strategy in enumerate(app.strategies):
        if not assigned[strategy.name]:
            text = f"no cluster is left for the strategy {strategy.name}"
            yield (*cluster_strategies.PATH, i), text, "", _WARNING
        own = (step for step in app.pipeline if step.strategy == strategy.name and step.targets)
        for step in own:
            yield from _outside(app, step, assigned[strategy.name])


def _outside(
    app: applications.Application, step: pipelines.Stage, members: tuple[str, ...]
) -> Iterator[_Finding]:
    """A stage's own limit cannot reach clusters that have another strategy."""
    if members and not set(members).intersection(step.targets):
        path = (*cluster_strategies.where(app, step), "with", "multiTargets")
        text = f"no cluster is left here: limited to {_names(step.targets)}"
        yield path, text, f"the clusters of {step.strategy} are {_names(members)}", _ERROR


def _empty_stages(
    app: applications.Application,
    clusters: fleets.Fleet,
    active: Set[str],
    base: yaml.Path,
) -> Iterator[_Finding]:
    for path, names in _limits(app, base):
        gone = [name for name in names if name in clusters.names and name not in active]
        if gone and active.isdisjoint(names):
            text = f"no cluster is left here: limited to {_names(names)}"
            yield path, text, f"the targets are {_names(sorted(active))}", _ERROR
        elif gone:
            text = f"{_names(gone)} is not among the targets of this run"
            yield path, text, "", _WARNING


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)


def _problems(
    findings: Iterable[_Finding], document: yaml.Document | None
) -> tuple[errors.Problem, ...]:
    def where(path: yaml.Path) -> errors.Location:
        return document.where(path) if document else errors.Location(path=yaml.dotted(path))

    return tuple(
        errors.Problem(text, where(path), hint, severity) for path, text, hint, severity in findings
    )
