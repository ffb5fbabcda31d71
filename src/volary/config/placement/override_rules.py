"""Reads ``placement``: overrides and the division of replicas."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from volary.config.decoding import readings
from volary.config.fleet import cluster_properties
from volary.config.placement import placement_sections, wave_rules
from volary.config.text import yaml
from volary.model.placement import overrides

PATH: yaml.Path = ("spec", "placement")


def convert(reading: readings.Reading, read: placement_sections.Placement) -> overrides.Differences:
    """Return what clusters have different; problems are noted."""
    rules = tuple(
        _rule(reading, override, (*PATH, "overrides", place))
        for place, override in enumerate(read.overrides)
    )
    _check_division(reading, read.replicas)
    return overrides.Differences(rules, read.replicas)


def _rule(
    reading: readings.Reading, read: placement_sections.Override, path: yaml.Path
) -> overrides.Rule:
    changes = tuple(_changes(reading, read, path))
    _check_properties(reading, path)
    if not changes:
        reading.error(path, "the override changes nothing", "add images, patches or the like")
    wave_rules.check_selector(reading, read.targets, (*path, "targets"))
    for place, resource in enumerate(read.resources):
        at = (*path, "resources", place, "matchExpressions")
        wave_rules.check_requirements(reading, resource.match_expressions, at)
    return overrides.Rule(changes, read.targets, tuple(read.resources))


def _changes(
    reading: readings.Reading, read: placement_sections.Overriders, path: yaml.Path
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
        yield _field(reading, field, (*path, "fields", place))
    for place, patch in enumerate(read.patches):
        _check_pointer(reading, patch.path, (*path, "patches", place, "path"))
        yield patch


def _check_properties(reading: readings.Reading, path: yaml.Path) -> None:
    """Note what no cluster can fill in; only what is written as a value is filled in."""
    for place, text in cluster_properties.texts(reading.written(path)):
        if "value" in place:
            cluster_properties.check(reading, text, (*path, *place))


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


def _field(
    reading: readings.Reading, read: placement_sections.FieldOverride, path: yaml.Path
) -> overrides.FieldOverride:
    if bool(read.json_) == bool(read.yaml):
        reading.error(path, "exactly one of json and yaml is needed", "say what the text is")
    _check_pointer(reading, read.field_path, (*path, "fieldPath"))
    document = overrides.Document.YAML if read.yaml else overrides.Document.JSON
    key = document.value
    patches = read.yaml or read.json_
    for place, field_patch in enumerate(patches):
        _check_pointer(reading, field_patch.sub_path, (*path, key, place, "subPath"))
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
