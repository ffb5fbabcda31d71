"""What is done about drift, from both dialects.

PipeCD's trigger ``onOutOfSync`` means what `driftDetection: repair` does in our own dialect, with a
least time between two runs. Its ``ignoreFields`` are JSON pointers with dots for slashes.
"""

from volary.config.application import application_sections
from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import drift_rules

_IGNORED: yaml.Path = ("spec", "ignoreDifferences")
_FIELDS: yaml.Path = ("spec", "driftDetection", "ignoreFields")
_TRIGGER: yaml.Path = ("spec", "trigger", "onOutOfSync")
_FORM = "apiVersion:kind:namespace:name#fieldPath"


def convert(reading: readings.Reading, spec: application_sections.Spec) -> drift_rules.DriftRules:
    """Return what is done; problems are noted."""
    trigger = spec.trigger.on_out_of_sync
    if isinstance(spec, application_sections.VolarySpec):
        if not trigger.disabled:
            hint = "write driftDetection: repair"
            reading.error((*_TRIGGER, "disabled"), "drift is repaired by another option", hint)
        for index, rule in enumerate(spec.ignore_differences):
            _check(reading, rule, (*_IGNORED, index))
        return drift_rules.DriftRules(
            spec.drift_detection, tuple(spec.ignore_differences), trigger.min_window
        )
    mode = None if trigger.disabled else drift_rules.DriftMode.REPAIR
    fields: tuple[str, ...] = ()
    if isinstance(spec, application_sections.PipecdSpec):
        fields = tuple(spec.drift_detection.ignore_fields)
    rules = (_ignored(reading, text, (*_FIELDS, place)) for place, text in enumerate(fields))
    return drift_rules.DriftRules(
        mode, tuple(rule for rule in rules if rule is not None), trigger.min_window
    )


def _check(reading: readings.Reading, rule: drift_rules.IgnoredDifference, at: yaml.Path) -> None:
    if not rule.json_pointers and not rule.managed_fields_managers:
        hint = "write jsonPointers or managedFieldsManagers"
        reading.error(at, "nothing says which differences are ignored", hint)
    for place, pointer in enumerate(rule.json_pointers):
        if not pointer.startswith("/") or pointer == "/":
            hint = "write /spec/replicas"
            where = (*at, "jsonPointers", place)
            reading.error(where, f"{pointer[:80]} is no JSON pointer to a field", hint)


def _ignored(
    reading: readings.Reading, text: str, at: yaml.Path
) -> drift_rules.IgnoredDifference | None:
    """Read one of PipeCD's; None: it is none, which is noted."""
    names, hash_sign, path = text.partition("#")
    parts = names.split(":")
    if not hash_sign or "#" in path or not path or len(parts) != 4:
        reading.error(at, f"{text[:80]} is not of the form {_FORM}")
        return None
    version, kind, namespace, name = parts
    group = version.rpartition("/")[0]
    pointer = "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in path.split("."))
    return drift_rules.IgnoredDifference(kind, group, name, namespace, (pointer,))
