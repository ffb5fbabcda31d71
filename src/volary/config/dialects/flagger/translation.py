"""From the objects of a directory to a file of our own dialect, and its text for ``volary
convert flagger``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.flagger import alerts, analysis, routing, schema, source, target
from volary.config.text import yaml
from volary.model import applications, errors, json

_LONGEST_RUN = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Translation:
    """What a Canary means in our own dialect, and what is wrong or different."""

    #: None when the Canary could not be read.
    draft: drafts.Draft | None
    problems: tuple[errors.Problem, ...]
    #: What stands for its AlertProviders and the providers of its MetricTemplates: parts of
    #: the controller's settings.
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def has_errors(self) -> bool:
        """Something has to be mended first."""
        return bool(errors.mistakes(self.problems))


def translate(
    documents: Sequence[yaml.Document], neighbours: Sequence[yaml.Document] = ()
) -> Translation:
    """Translate the one Canary among `documents`.

    Args:
        documents: Of the application file.
        neighbours: Of the other files in its directory: templates, providers, the workload.
    """
    canaries = [
        document for document in (*documents, *neighbours) if source.is_flaggers(document, "Canary")
    ]
    reading = readings.Reading((canaries or list(documents))[0], applications.Dialect.FLAGGER)
    if len(canaries) != 1:
        _not_one(reading, canaries)
        return Translation(None, tuple(reading.problems))
    canary = reading.read(schema.Canary, _of_version(reading), ())
    if canary is None:
        return Translation(None, tuple(reading.problems))
    made = drafts.Draft(reading.where(()))
    read = source.Source(reading, canary, (*documents, *neighbours), made)
    _fill(read)
    return Translation(made, tuple(reading.problems), read.settings)


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


@dataclass(frozen=True, slots=True)
class Converted:
    """The parts of the printed text."""

    body: json.JsonObject
    #: Lines without ``#``: what differs, and settings of the controller that go with it.
    remarks: tuple[str, ...]
    settings: Mapping[str, object]


def to_yaml(made: Translation, problems: Iterable[errors.Problem]) -> Converted:
    """Return what is printed for a translation without errors.

    `problems` are all that reading the Canary as an application found.
    """
    assert made.draft is not None
    value = made.draft.value
    spec = {name: value["spec"][name] for name in _ORDER if name in value["spec"]}
    rest = {name: section for name, section in value["spec"].items() if name not in spec}
    remarks = [f"{problem.where}: {problem.message}" for problem in problems]
    return Converted({**value, "spec": {**spec, **rest}}, tuple(remarks), made.settings)


def comment(lines: Sequence[str]) -> str:
    """Return lines as YAML comments."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)
