"""From the objects of a directory to a file of our own dialect, and its text for ``volary
convert flagger``.
"""

from collections.abc import Sequence
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.flagger import (
    alerts,
    analysis,
    recognition,
    routing,
    schema,
    source,
    target,
)
from volary.config.text import yaml
from volary.model import applications, json

_LONGEST_RUN = timedelta(hours=6)


def translate(
    documents: Sequence[yaml.Document], neighbours: Sequence[yaml.Document] = ()
) -> drafts.Translation:
    """Translate the one Canary among `documents`.

    Args:
        documents: Of the application file.
        neighbours: Of the other files in its directory: templates, providers, the workload.
    """
    canaries = [
        document
        for document in (*documents, *neighbours)
        if recognition.is_flaggers(document, "Canary")
    ]
    reading = readings.Reading((canaries or list(documents))[0], applications.Dialect.FLAGGER)
    made, settings = drafts.Draft(reading.where(())), dict[str, object]()
    if len(canaries) != 1:
        _not_one(reading, canaries)
    elif canary := reading.read(schema.Canary, _of_version(reading), ()):
        objects = [one for one in (*documents, *neighbours) if isinstance(one.value, dict)]
        _fill(source.Source(reading, canary, objects, made, settings))
    return drafts.Translation(made, tuple(reading.problems), settings)


def _fill(read: source.Source) -> None:
    read.put(("apiVersion",), applications.Dialect.VOLARY.value, ("apiVersion",))
    read.put(("kind",), "Application", ("kind",))
    if not read.name:
        read.reading.error(("metadata", "name"), "is required, as text")
    read.put(("metadata", "name"), read.name, ("metadata", "name"))
    labels = read.canary.metadata.get("labels")
    if isinstance(labels, dict) and labels:
        read.put(("metadata", "labels"), labels, ("metadata", "labels"))
    target.translate(read)
    length = analysis.translate(read, routing.translate(read))
    if length >= _LONGEST_RUN:
        hours = int(length.total_seconds()) // 3600 + 2
        read.put(("spec", "timeout"), f"{hours}h", read.analysis_path)
    alerts.translate(read)


def _not_one(reading: readings.Reading, canaries: Sequence[yaml.Document]) -> None:
    if not canaries:
        message = "there is no Canary: MetricTemplates and AlertProviders describe no application"
        reading.error((), message, "name the file with the Canary")
        return
    places = ", ".join(str(canary.where(())) for canary in canaries)
    reading.error(
        (),
        f"{len(canaries)} Canaries in one directory: {places}",
        "an application is one directory: give each Canary, with its manifests, its own",
    )


def _of_version(reading: readings.Reading) -> dict[str, object]:
    """Return the Canary in the version that is read; older ones differ in nothing known."""
    value: dict[str, object] = reading.document.value
    version = value.get("apiVersion")
    if version != schema.API_VERSION:
        message = f"{version} is read as {schema.API_VERSION}"
        reading.warn(("apiVersion",), message, f"write {schema.API_VERSION}")
    return {**value, "apiVersion": schema.API_VERSION}


_ORDER = (
    "targets",
    "input",
    "workloads",
    "service",
    "variantLabel",
    "trafficRouting",
    "trigger",
    "timeout",
    "pipeline",
)


def body(made: drafts.Translation) -> json.JsonObject:
    """Return the file of a translation without errors, its sections in the order of our docs."""
    value = made.draft.value
    spec = {name: value["spec"][name] for name in _ORDER if name in value["spec"]}
    return {**value, "spec": {**spec, **value["spec"]}}


def comment(lines: Sequence[str]) -> str:
    """Return lines as YAML comments."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
