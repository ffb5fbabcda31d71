"""What a translation reads from: one Canary, its neighbours, and the problems found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.flagger import recognition, schema
from volary.config.text import yaml
from volary.model import applications

N = TypeVar("N", schema.AlertProvider, schema.MetricTemplate)

#: The label that tells variants apart.
VARIANT = "pipecd.dev/variant"
#: On what stands for objects that Flagger made: its fields are taken over from it.
TAKEN_OVER = {"volary.dev/force-conflicts": "enabled"}
#: Types of a MetricTemplate's provider that are carried out.
PROVIDERS = (
    "prometheus",
    "datadog",
    "cloudwatch",
    "newrelic",
    "graphite",
    "influxdb",
    "dynatrace",
    "stackdriver",
    "splunk",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A Canary that is being translated."""

    #: Of the Canary; collects the problems of the whole translation.
    reading: readings.Reading
    canary: schema.Canary
    #: Every object of the application's directory, the Canary too: their values are objects.
    neighbours: Sequence[yaml.Document]
    draft: drafts.Draft
    #: What belongs into the fleet file or the controller's settings instead.
    settings: dict[str, object]

    @property
    def spec(self) -> schema.Spec:
        """What the Canary asks for."""
        return self.canary.spec

    @property
    def name(self) -> str:
        """The Canary's name."""
        return drafts.text(self.canary.metadata, "name")

    @property
    def namespace(self) -> str:
        """The Canary's namespace; empty: not written."""
        return drafts.text(self.canary.metadata, "namespace")

    @property
    def service(self) -> str:
        """The name of the Service that leads to the workload."""
        return (self.spec.service.name if self.spec.service else "") or self.spec.target_ref.name

    @property
    def is_service(self) -> bool:
        """A Service is the target: what changes is where it leads, not what pods are."""
        target = self.spec.target_ref
        return target.kind == "Service" and target.api_version in ("", "v1")

    @property
    def analysis_path(self) -> yaml.Path:
        """Where the analysis is written."""
        return ("spec", "analysis" if self.spec.analysis else "canaryAnalysis")

    @property
    def analysis(self) -> schema.Analysis | None:
        """The analysis, under whichever name; None: there is none."""
        return self.spec.analysis or self.spec.canary_analysis

    def put(self, path: yaml.Path, value: object, written: yaml.Path) -> None:
        """Write `value` to the draft; `written` is where the Canary says so."""
        self.draft.put(path, value, self.reading.where(written))

    def find(self, kind: str, name: str) -> yaml.Document | None:
        """Return the neighbour of that kind and name; None when there is none."""
        for neighbour in self.neighbours:
            metadata = neighbour.value.get("metadata")
            if neighbour.value.get("kind") == kind and drafts.text(metadata, "name") == name:
                return neighbour
        return None

    def find_referenced(
        self, kind: str, reference: schema.DistantReference
    ) -> yaml.Document | None:
        """Return the object of Flagger's that is meant; a namespace not written fits any."""
        wanted = reference.namespace or self.namespace
        for neighbour in self.neighbours:
            metadata = neighbour.value.get("metadata")
            namespace = drafts.text(metadata, "namespace")
            near = not namespace or not wanted or namespace == wanted
            if (
                near
                and recognition.is_flaggers(neighbour, kind)
                and drafts.text(metadata, "name") == reference.name
            ):
                return neighbour
        return None

    def read_neighbour(self, kind: type[N], reference: schema.DistantReference) -> N | None:
        """Return an object of Flagger's that is beside the Canary; its problems are noted."""
        document = self.find_referenced(kind.__name__, reference)
        if document is None:
            return None
        reading = readings.Reading(document, applications.Dialect.FLAGGER)
        neighbour = reading.read(kind, document.value, ())
        known = self.reading.problems
        known += [problem for problem in reading.problems if problem not in known]
        return neighbour


_STAGES: yaml.Path = ("spec", "pipeline", "stages")


@dataclass(slots=True)
class Steps:
    """Appends stages to the draft."""

    to: Source
    count: int = 0

    def begin(
        self,
        name: str,
        written: yaml.Path,
        *,
        description: str = "",
        timeout: str = "",
    ) -> "Step":
        """Append a stage that comes from `written`."""
        path = (*_STAGES, self.count)
        self.count += 1
        self.to.put((*path, "name"), name, written)
        self.to.draft.came_from(path, self.to.reading.where(written))
        if description:
            self.to.put((*path, "desc"), description, written)
        if timeout:
            self.to.put((*path, "timeout"), timeout, written)
        return Step(self.to, path)


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the draft."""

    to: Source
    path: yaml.Path

    def set(self, name: str, value: Any, written: yaml.Path) -> None:
        """Set an option."""
        self.to.put((*self.path, "with", name), value, written)
