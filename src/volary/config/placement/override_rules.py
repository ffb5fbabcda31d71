"""Reads ``placement``: overrides and the division of replicas."""

from collections.abc import Iterable, Iterator

from volary.config.decoding import readings
from volary.config.fleet import cluster_properties
from volary.config.placement import placement_sections, wave_rules
from volary.config.text import yaml
from volary.model.placement import overrides

PATH: yaml.Path = ("spec", "placement")


def convert(reading: readings.Reading, read: placement_sections.Placement) -> overrides.Differences:
    """Return what clusters have different; problems are noted."""
    rules = tuple(
        _rule(reading, each, (*PATH, "overrides", place))
        for place, each in enumerate(read.overrides)
    )
    return overrides.Differences(rules, _replicas(reading, read.replicas))


def _rule(
    reading: readings.Reading, read: placement_sections.Override, path: yaml.Path
) -> overrides.Rule:
    changes = tuple(_changes(reading, read, path))
    _check_properties(reading, read, path)
    if not changes:
        reading.error(path, "the override changes nothing", "add images, patches or the like")
    return overrides.Rule(
        changes,
        wave_rules.selector(reading, read.targets, (*path, "targets")),
        tuple(
            _resource(reading, each, (*path, "resources", place))
            for place, each in enumerate(read.resources)
        ),
    )


def _resource(
    reading: readings.Reading, read: placement_sections.ObjectSelector, path: yaml.Path
) -> overrides.ObjectSelector:
    expressions = wave_rules.requirements(
        reading, read.match_expressions, (*path, "matchExpressions")
    )
    return overrides.ObjectSelector(
        read.api_version, read.kind, read.name, read.match_labels, expressions, read.namespace
    )


def _changes(
    reading: readings.Reading, read: placement_sections.Overriders, path: yaml.Path
) -> Iterator[overrides.Override]:
    for place, image in enumerate(read.images):
        _check_pointer(reading, image.path, (*path, "images", place, "path"))
        yield overrides.ImageOverride(image.component, image.operator, image.value, image.path)
    yield from _arguments(reading, read.commands, overrides.Arguments.COMMAND, (*path, "commands"))
    yield from _arguments(reading, read.args, overrides.Arguments.ARGS, (*path, "args"))
    for env in read.env:
        yield overrides.EnvOverride(env.operator, env.value, env.container_name)
    for which, changes in (
        (overrides.Metadata.LABELS, read.labels),
        (overrides.Metadata.ANNOTATIONS, read.annotations),
    ):
        for change in changes:
            yield overrides.MetadataOverride(which, change.operator, change.value)
    for place, field in enumerate(read.fields):
        yield _field(reading, field, (*path, "fields", place))
    for place, patch in enumerate(read.patches):
        _check_pointer(reading, patch.path, (*path, "patches", place, "path"))
        yield overrides.PatchOverride(patch.path, patch.operator, patch.value)


def _check_properties(
    reading: readings.Reading, read: placement_sections.Overriders, path: yaml.Path
) -> None:
    """Note what no cluster can fill in; only what is written as a value is filled in."""
    for place, text in cluster_properties.texts(read.model_dump(by_alias=True)):
        if "value" in place:
            cluster_properties.check(reading, text, (*path, *place))


def _arguments(
    reading: readings.Reading,
    read: Iterable[placement_sections.ArgumentsOverride],
    which: overrides.Arguments,
    path: yaml.Path,
) -> Iterator[overrides.Override]:
    for place, each in enumerate(read):
        if each.operator is overrides.Operator.REPLACE:
            here = (*path, place, "operator")
            reading.error(here, f"{which.value} cannot be replaced", "write add or remove")
        yield overrides.ArgumentsOverride(
            which, each.container_name, each.operator, tuple(each.value)
        )


def _field(
    reading: readings.Reading, read: placement_sections.FieldOverride, path: yaml.Path
) -> overrides.FieldOverride:
    if bool(read.json_) == bool(read.yaml):
        reading.error(path, "exactly one of json and yaml is needed", "say what the text is")
    _check_pointer(reading, read.field_path, (*path, "fieldPath"))
    document = overrides.Document.YAML if read.yaml else overrides.Document.JSON
    key = document.value
    patches = read.yaml or read.json_
    for place, each in enumerate(patches):
        _check_pointer(reading, each.sub_path, (*path, key, place, "subPath"))
    return overrides.FieldOverride(
        read.field_path,
        document,
        tuple(
            overrides.PatchOverride(patch.sub_path, patch.operator, patch.value)
            for patch in patches
        ),
    )


def _check_pointer(reading: readings.Reading, pointer: str, path: yaml.Path) -> None:
    if pointer and not pointer.startswith("/"):
        reading.error(path, f"{pointer} is no JSON pointer", "write /spec/replicas")


def _replicas(
    reading: readings.Reading, read: placement_sections.ReplicaDivision
) -> overrides.ReplicaDivision:
    path = (*PATH, "replicas")
    _check_division(reading, read, path)
    weights = tuple(
        overrides.Weight(
            wave_rules.selector(reading, each.targets, (*path, "weights", place, "targets")),
            each.weight,
        )
        for place, each in enumerate(read.weights)
    )
    return overrides.ReplicaDivision(read.division, weights, read.preference, read.autoscaled)


def _check_division(
    reading: readings.Reading, read: placement_sections.ReplicaDivision, path: yaml.Path
) -> None:
    """Note what has no effect."""
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
