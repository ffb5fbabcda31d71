"""``placement``: its fields, and how overrides and the division of replicas are read."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from volary.config.decoding import base_sections, readings
from volary.config.fleet import cluster_properties
from volary.config.placement import wave_rules
from volary.config.text import yaml
from volary.model import options
from volary.model.fleet import taints
from volary.model.placement import failover_rules, overrides, rollouts, spread_constraints

#: The field of `Placement` is called like the module.
ReplicaDivision = overrides.ReplicaDivision


class Overriders(base_sections.Section):
    """What is changed, in the order of these fields (Karmada: overriders)."""

    images: list[overrides.ImageOverride] = options.option("Images.", [])
    commands: list[overrides.ArgumentsOverride] = options.option("Commands.", [])
    args: list[overrides.ArgumentsOverride] = options.option("Arguments.", [])
    env: list[overrides.EnvOverride] = options.option("Environment variables.", [])
    labels: list[overrides.MetadataOverride] = options.option("Labels.", [])
    annotations: list[overrides.MetadataOverride] = options.option("Annotations.", [])
    fields: list[overrides.FieldOverride] = options.option("Documents inside of texts.", [])
    patches: list[overrides.PatchOverride] = options.option("Anything else, last.", [])


class Override(Overriders):
    """What some clusters have different."""

    targets: rollouts.ClusterSelector = options.option(
        "Which clusters; nothing given: every one.", rollouts.ClusterSelector()
    )
    resources: list[overrides.ObjectSelector] = options.option(
        "Which manifests, any of these; none given: all.", []
    )


class Placement(base_sections.Section):
    """What an application has different on its clusters."""

    overrides: list[Override] = options.option(
        "Changes of manifests for some clusters, one after another. Texts may hold "
        "`${cluster.name}`, `${cluster.region}`, `${cluster.provider}`, `${cluster.zone}` and "
        "`${cluster.labels.KEY}`.",
        [],
    )
    replicas: ReplicaDivision = options.option(
        "How replicas are spread over the clusters.", ReplicaDivision()
    )
    tolerations: list[taints.Toleration] = options.option(
        "Taints of clusters that the application tolerates.", []
    )
    spread: list[spread_constraints.Constraint] = options.option(
        "Over how many clusters, regions or the like; none: every target. At most one by "
        "`cluster`, and one by something else.",
        [],
    )
    failover: failover_rules.Failover | None = options.option(
        "When it is moved away from a cluster; not given: never by itself.", None
    )


PATH: yaml.Path = ("spec", "placement")


def convert(reading: readings.Reading, read: Placement) -> overrides.Differences:
    """Return what clusters have different; problems are noted."""
    rules = tuple(
        _rule(reading, override, (*PATH, "overrides", place))
        for place, override in enumerate(read.overrides)
    )
    _check_division(reading, read.replicas)
    return overrides.Differences(rules, read.replicas)


def _rule(reading: readings.Reading, read: Override, path: yaml.Path) -> overrides.Rule:
    changes = tuple(_changes(reading, read, path))
    for inside, text in cluster_properties.texts(reading.written(path)):
        # Only what is written as a value is filled in.
        if "value" in inside:
            cluster_properties.check(reading, text, (*path, *inside))
    if not changes:
        reading.error(path, "the override changes nothing", "add images, patches or the like")
    wave_rules.check_selector(reading, read.targets, (*path, "targets"))
    for place, resource in enumerate(read.resources):
        at = (*path, "resources", place, "matchExpressions")
        wave_rules.check_requirements(reading, resource.match_expressions, at)
    return overrides.Rule(changes, read.targets, tuple(read.resources))


def _changes(
    reading: readings.Reading, read: Overriders, path: yaml.Path
) -> Iterator[overrides.Override]:
    for place, image in enumerate(read.images):
        _check_pointer(reading, image.path, (*path, "images", place, "path"))
        yield image
    yield from _arguments(reading, read.commands, overrides.Arguments.COMMAND, (*path, "commands"))
    yield from _arguments(reading, read.args, overrides.Arguments.ARGS, (*path, "args"))
    yield from read.env
    yield from read.labels
    for change in read.annotations:
        yield replace(change, which=overrides.Metadata.ANNOTATIONS)
    for place, field in enumerate(read.fields):
        _check_field(reading, field, (*path, "fields", place))
        yield field
    for place, patch in enumerate(read.patches):
        _check_pointer(reading, patch.path, (*path, "patches", place, "path"))
        yield patch


def _arguments(
    reading: readings.Reading,
    read: Iterable[overrides.ArgumentsOverride],
    which: overrides.Arguments,
    path: yaml.Path,
) -> Iterator[overrides.Override]:
    for place, change in enumerate(read):
        if change.operator is overrides.Operator.REPLACE:
            here = (*path, place, "operator")
            reading.error(here, f"{which.value} cannot be replaced", "write add or remove")
        yield replace(change, which=which)


def _check_field(reading: readings.Reading, read: overrides.FieldOverride, path: yaml.Path) -> None:
    if bool(read.json_) == bool(read.yaml):
        reading.error(path, "exactly one of json and yaml is needed", "say what the text is")
    _check_pointer(reading, read.field_path, (*path, "fieldPath"))
    key = "yaml" if read.yaml else "json"
    for place, field_patch in enumerate(read.yaml or read.json_):
        _check_pointer(reading, field_patch.sub_path, (*path, key, place, "subPath"))


def _check_pointer(reading: readings.Reading, pointer: str, path: yaml.Path) -> None:
    if pointer and not pointer.startswith("/"):
        reading.error(path, f"{pointer} is no JSON pointer", "write /spec/replicas")


def _check_division(reading: readings.Reading, read: overrides.ReplicaDivision) -> None:
    """Note what has no effect, and clusters that cannot be chosen."""
    path = (*PATH, "replicas")
    for place, weight in enumerate(read.weights):
        wave_rules.check_selector(reading, weight.targets, (*path, "weights", place, "targets"))
    given: tuple[tuple[str, bool], ...] = (
        ("weights", bool(read.weights)),
        ("preference", read.preference is not overrides.Preference.WEIGHTED),
        ("autoscaled", read.autoscaled is not overrides.Autoscaled.LEAVE),
    )
    if read.division is overrides.Division.DUPLICATED:
        for key, is_given in given:
            if is_given:
                verb = "have" if key == "weights" else "has"
                reading.error((*path, key), f"{key} {verb} no effect", "write division: Divided")
    elif read.weights and read.preference is not overrides.Preference.WEIGHTED:
        message = f"weights have no effect with preference: {read.preference.value}"
        reading.error((*path, "weights"), message, "remove one of them")
