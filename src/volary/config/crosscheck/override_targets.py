"""What an application has different on its clusters, compared with the fleet."""

from collections.abc import Iterable, Iterator, Sequence

from volary.config.decoding import readings
from volary.config.fleet import cluster_properties
from volary.config.text import yaml
from volary.model import applications, errors
from volary.model.fleet import fleets, selectors
from volary.model.placement import overrides, rollouts

Finding = tuple[yaml.Path, str, str, errors.Severity]
_OVERRIDES: yaml.Path = ("spec", "placement", "overrides")
_WEIGHTS: yaml.Path = ("spec", "placement", "replicas", "weights")


def findings(
    app: applications.Application, clusters: fleets.Fleet, targets: Sequence[fleets.Cluster]
) -> Iterator[Finding]:
    """Yield what does not fit: names nobody has, what is for no target, properties that lack.

    Args:
        app: The application.
        clusters: The fleet.
        targets: The clusters that a run would go to.
    """
    # Policies of Karmada's are often shared by many applications and fleets.
    is_theirs = app.dialect is applications.Dialect.KARMADA
    severity = errors.Severity.WARNING if is_theirs else errors.Severity.ERROR
    for path, selector in _selectors(app.differences):
        unknown = list(_unknown(selector, clusters, path, severity))
        yield from unknown
        if not unknown and not any(selectors.matches(selector, target) for target in targets):
            yield path, "none of the application's clusters is chosen", "", _WARNING
    for place, rule in enumerate(app.differences.rules):
        yield from _absent(rule, targets, (*_OVERRIDES, place))


_WARNING = errors.Severity.WARNING


def _selectors(
    wanted: overrides.Differences,
) -> Iterator[tuple[yaml.Path, rollouts.ClusterSelector]]:
    for place, rule in enumerate(wanted.rules):
        yield (*_OVERRIDES, place, "targets"), rule.targets
    for place, weight in enumerate(wanted.replicas.weights):
        yield (*_WEIGHTS, place, "targets"), weight.targets


def _unknown(
    selector: rollouts.ClusterSelector,
    clusters: fleets.Fleet,
    path: yaml.Path,
    severity: errors.Severity,
) -> Iterator[Finding]:
    for key, names in (("names", selector.names), ("exclude", selector.exclude)):
        for place, name in enumerate(names):
            if name not in clusters.names:
                hint = readings.did_you_mean(name, clusters.names)
                text = f"unknown target {name}: the fleet has no such cluster"
                yield (*path, key, place), text, hint, severity


def _absent(
    rule: overrides.Rule, targets: Iterable[fleets.Cluster], path: yaml.Path
) -> Iterator[Finding]:
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
        yield path, text, hint, errors.Severity.ERROR


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
