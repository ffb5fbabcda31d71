"""An application compared with the fleet it shall be deployed to."""

from collections.abc import Iterable, Iterator, Sequence

from volary.config import admission, differing, measured, shape, strategies, yaml
from volary.model import (
    application,
    fleet,
    overrides,
    placement,
    problem,
    provider,
    selection,
    stage,
)


def against_fleet(
    app: application.Application,
    clusters: fleet.Fleet,
    *,
    document: yaml.Document | None = None,
    base: yaml.Path = ("spec",),
) -> tuple[problem.Problem, ...]:
    """Return what is wrong when `app` is deployed to this fleet.

    Unknown cluster names, labels that choose no cluster, and stages left with no
    cluster are errors in both dialects (PipeCD ignores all of them). Clusters that
    ``input.multiTargets`` leaves out are a warning, suspended ones too.

    Args:
        app: The application.
        clusters: The fleet.
        document: The application's file, to name lines.
        base: Where its Kubernetes part is, see `application.Loaded`.
    """
    found = [*_findings(app, clusters, base), *measured.findings(app, clusters)]
    return tuple(
        problem.Problem(text, _where(document, path), hint, severity)
        for path, text, hint, severity in found
    )


def against_providers(
    app: application.Application,
    providers: Sequence[provider.Provider],
    *,
    document: yaml.Document | None = None,
) -> tuple[problem.Problem, ...]:
    """Return which metrics find nothing at the systems that would be asked."""
    return tuple(
        problem.Problem(text, _where(document, path), hint, severity)
        for path, text, hint, severity in measured.of_providers(app, providers)
    )


def chosen(app: application.Application, clusters: fleet.Fleet) -> tuple[fleet.Cluster, ...]:
    """Return the clusters the target selector chooses, suspended ones too, in fleet order."""
    return tuple(each for each in clusters.clusters if selection.matches(app.targets, each))


def deployed(app: application.Application, clusters: fleet.Fleet) -> tuple[fleet.Cluster, ...]:
    """Return the chosen clusters that ``input.multiTargets`` leaves (PipeCD: Resolve).

    Unlike PipeCD, in the order of the fleet.
    """
    entries = {each.target for each in app.input.multi_targets}
    found = chosen(app, clusters)
    return tuple(each for each in found if each.name in entries) if entries else found


_Finding = tuple[yaml.Path, str, str, problem.Severity]
_ERROR, _WARNING = problem.Severity.ERROR, problem.Severity.WARNING


def _findings(
    app: application.Application, clusters: fleet.Fleet, base: yaml.Path
) -> Iterator[_Finding]:
    yield from _unknown_names(app, clusters, base)
    selected = chosen(app, clusters)
    if not selected and not app.targets.names:
        yield ("spec", "targets"), _nobody(app, clusters), "", _ERROR
        return
    yield from _left_out(app, selected, base)
    targets = deployed(app, clusters)
    yield from _suspended(targets)
    yield from _tainted(app, targets)
    if not any(not admission.why_not(app, each) for each in targets):
        path = (*base, "input", "multiTargets") if app.input.multi_targets else ("spec", "targets")
        yield path, "no cluster is left to deploy to", "", _ERROR
        return
    active = [each for each in targets if not admission.why_not(app, each)]
    yield from differing.findings(app, clusters, active)
    yield from _nowhere_to_go(app)
    yield from _without_strategy(app, targets)
    yield from _empty_stages(app, clusters, targets, base)


def _nobody(app: application.Application, clusters: fleet.Fleet) -> str:
    """Return why no cluster is chosen."""
    if not clusters.clusters:
        return "the fleet is empty"
    labels = ", ".join(f"{key}={value}" for key, value in app.targets.match_labels.items())
    if labels and app.targets == application.TargetSelector(match_labels=app.targets.match_labels):
        return f"no cluster of the fleet has the labels {labels}"
    first = clusters.clusters[0]
    reason = selection.why_not(app.targets, first)
    return f"no cluster of the fleet is chosen; {first.name}: {reason}"


def _limits(
    app: application.Application, base: yaml.Path
) -> Iterator[tuple[yaml.Path, tuple[str, ...]]]:
    """Yield every list of cluster names that limits something."""
    if app.quick_sync_targets:
        yield (*base, "quickSync", "multiTargets"), app.quick_sync_targets
    for each in app.pipeline:
        if each.targets:
            yield (*strategies.where(app, each), "with", "multiTargets"), each.targets


def _unknown_names(
    app: application.Application, clusters: fleet.Fleet, base: yaml.Path
) -> Iterator[_Finding]:
    named: list[tuple[yaml.Path, str]] = [
        (("spec", "targets", "names", i), name) for i, name in enumerate(app.targets.names)
    ]
    named += [
        (("spec", "targets", "exclude", i), name) for i, name in enumerate(app.targets.exclude)
    ]
    for i, entry in enumerate(app.input.multi_targets):
        named.append(((*base, "input", "multiTargets", i, "target", "name"), entry.target))
    for i, strategy in enumerate(app.strategies):
        path = (*strategies.PATH, i, "targets", "names")
        named += [((*path, j), name) for j, name in enumerate(strategy.targets.names)]
    for i, wave in enumerate(app.waves.waves):
        named += _of_selector(wave.selector, ("spec", "waves", i, "targets"))
    for key, listed_windows in (
        ("allow", app.waves.windows.allow),
        ("deny", app.waves.windows.deny),
    ):
        for i, window in enumerate(listed_windows):
            path = ("spec", "windows", key, i, "targets")
            named += _of_selector(window.selector, path)
    for path, names in _limits(app, base):
        named += [((*path, i), name) for i, name in enumerate(names)]
    for path, name in named:
        if name not in clusters.names:
            hint = shape.did_you_mean(name, clusters.names)
            yield path, f"unknown target {name}: the fleet has no such cluster", hint, _ERROR


def _of_selector(
    selector: placement.ClusterSelector | None, path: yaml.Path
) -> Iterator[tuple[yaml.Path, str]]:
    """Yield the names a selector has, and where they are written."""
    if selector is not None:
        for key, names in (("names", selector.names), ("exclude", selector.exclude)):
            yield from (((*path, key, place), name) for place, name in enumerate(names))


def _left_out(
    app: application.Application, selected: tuple[fleet.Cluster, ...], base: yaml.Path
) -> Iterator[_Finding]:
    if not app.input.multi_targets:
        return
    path = (*base, "input", "multiTargets")
    entries = {each.target for each in app.input.multi_targets}
    left_out = [each.name for each in selected if each.name not in entries]
    if left_out:
        text = f"not deployed to {_names(left_out)}: multiTargets has no entry for it"
        yield path, text, "add an entry with the target's name", _WARNING
    unselected = [name for name in entries if name not in {each.name for each in selected}]
    if unselected and app.targets != application.TargetSelector():
        text = f"the entry for {_names(sorted(unselected))} has no effect: targets leaves it out"
        yield path, text, "", _WARNING


def _suspended(targets: Iterable[fleet.Cluster]) -> Iterator[_Finding]:
    names = [each.name for each in targets if each.suspended]
    if names:
        yield (), f"not deployed to {_names(names)}: suspended in the fleet", "", _WARNING


def _tainted(app: application.Application, targets: Iterable[fleet.Cluster]) -> Iterator[_Finding]:
    for each in targets:
        reason = admission.why_not(app, each)
        if reason and not each.suspended:
            yield (), f"not deployed to {each.name}: {reason}", "", _WARNING


def _nowhere_to_go(app: application.Application) -> Iterator[_Finding]:
    """An application that is on all of its targets anyway cannot move to another one."""
    is_divided = app.differences.replicas.division is overrides.Division.DIVIDED
    if app.failover is not None and not app.spread and not is_divided:
        text = "nothing can move: every cluster of the targets has all replicas"
        hint = "add placement.spread, or write division: Divided under placement.replicas"
        yield ("spec", "placement", "failover"), text, hint, _WARNING


def _without_strategy(
    app: application.Application, targets: tuple[fleet.Cluster, ...]
) -> Iterator[_Finding]:
    if not app.strategies:
        return
    active = [each for each in targets if not admission.why_not(app, each)]
    assigned = strategies.assign(app, active)
    taken = {name for members in assigned.values() for name in members}
    left = [each.name for each in active if each.name not in taken]
    if left:
        hint = "add a last strategy without targets, or limit the application's own targets"
        yield strategies.PATH, f"no strategy matches {_names(left)}", hint, _ERROR
    for i, each in enumerate(app.strategies):
        if not assigned[each.name]:
            text = f"no cluster is left for the strategy {each.name}"
            yield (*strategies.PATH, i), text, "", _WARNING
        own = (step for step in app.pipeline if step.strategy == each.name and step.targets)
        for step in own:
            yield from _outside(app, step, assigned[each.name])


def _outside(
    app: application.Application, step: stage.Stage, members: tuple[str, ...]
) -> Iterator[_Finding]:
    """A stage's own limit cannot reach clusters that have another strategy."""
    if members and not set(members).intersection(step.targets):
        path = (*strategies.where(app, step), "with", "multiTargets")
        text = f"no cluster is left here: limited to {_names(step.targets)}"
        yield path, text, f"the clusters of {step.strategy} are {_names(members)}", _ERROR


def _empty_stages(
    app: application.Application,
    clusters: fleet.Fleet,
    targets: tuple[fleet.Cluster, ...],
    base: yaml.Path,
) -> Iterator[_Finding]:
    active = {each.name for each in targets if not admission.why_not(app, each)}
    for path, names in _limits(app, base):
        gone = [name for name in names if name in clusters.names and name not in active]
        if gone and not active.intersection(names):
            text = f"no cluster is left here: limited to {_names(names)}"
            yield path, text, f"the targets are {_names(sorted(active))}", _ERROR
        elif gone:
            text = f"{_names(gone)} is not among the targets of this run"
            yield path, text, "", _WARNING


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)


def _where(document: yaml.Document | None, path: yaml.Path) -> problem.Location:
    return document.where(path) if document else problem.Location(path=yaml.dotted(path))
