"""What the fields of a kustomization name: files, directories, texts written in place. Pure.

kustomize matches the names of fields whatever their case, reads a text as a path only when it
cannot be read as an object, and takes a path that looks like an address for one even where a
directory of that name exists. So nothing is guessed here: a field is one of those listed, written
as listed, with a value of its form, or it is refused; and what was read is what is built
(`Reading.value`), so no other reader of YAML sees anything else in it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from json import encoder
from typing import Any

from volary.config.text import yaml
from volary.model import errors, json


class Role(StrEnum):
    """What becomes of what a path leads to."""

    #: A file with objects, or a directory with a kustomization.
    RESOURCE = "resource"
    #: A directory with a kustomization.
    COMPONENT = "component"
    #: A file with settings of generators, transformers or validators, or a directory of those.
    PLUGIN = "plugin"
    #: A file that is read as it is.
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Reference:
    """One path as written."""

    value: str
    role: Role
    where: errors.Location


@dataclass(slots=True)
class Reading:
    """What was found in one file."""

    document: yaml.Document
    references: list[Reference] = field(default_factory=list)
    problems: list[errors.Problem] = field(default_factory=list)
    #: What is built in place of what was written: the same, read by our reader alone.
    value: Any = None

    def refuse(self, message: str, path: yaml.Path, hint: str = "") -> None:
        """Add a problem."""
        self.problems.append(errors.Problem(message, self.document.where(path), hint))

    def refer(self, value: str, role: Role, path: yaml.Path) -> None:
        """Add a path."""
        self.references.append(Reference(value, role, self.document.where(path)))


_CHART_HINT = "use input.helmChart, or commit the chart's output"
_CHARTS = "charts inside a kustomization are not rendered"
_PROGRAM_HINT = (
    "plugins that are programs, containers or functions are not run; commit what they make"
)
#: Annotations that make a function of an object (KRM functions).
_FUNCTIONS = ("config.kubernetes.io/function", "config.k8s.io/function")
#: What kustomize brings along; others are programs. Charts are refused by name.
BUILTINS = frozenset(
    {
        "AnnotationsTransformer",
        "ConfigMapGenerator",
        "HashTransformer",
        "IAMPolicyGenerator",
        "ImageTagTransformer",
        "LabelTransformer",
        "LegacyOrderTransformer",
        "NamespaceTransformer",
        "PatchJson6902Transformer",
        "PatchStrategicMergeTransformer",
        "PatchTransformer",
        "PrefixSuffixTransformer",
        "PrefixTransformer",
        "ReplacementTransformer",
        "ReplicaCountTransformer",
        "SecretGenerator",
        "SortOrderTransformer",
        "SuffixTransformer",
        "ValueAddTransformer",
    }
)


def read_kustomization(document: yaml.Document, *, of_plugins: bool = False) -> Reading:
    """Return what a kustomization refers to.

    One that lists generators or transformers (`of_plugins`) has resources and nothing else: any
    other field could change what they are after they were read.
    """
    reading = Reading(document)
    body = document.value
    if not isinstance(body, dict):
        reading.refuse("a kustomization is an object", ())
        return reading
    reading.value = dict(body)
    for name, value in body.items():
        if of_plugins and name not in _OF_PLUGINS:
            reading.refuse(
                f"{name} does not belong here: the directory holds generators or transformers",
                (name,),
                f"it may have {', '.join(_OF_PLUGINS)}",
            )
        elif value is None:
            continue
        elif of_plugins and name == "resources":
            _Paths(Role.PLUGIN)(reading, (name,), value)
        elif name in _FIELDS:
            reading.value[name] = _FIELDS[name](reading, (name,), value)
        elif name not in _WITHOUT_FILES:
            _refuse_name(reading, (name,), FIELDS)
    return reading


def read_plugins(document: yaml.Document) -> Reading:
    """Return what the settings of a generator, transformer or validator refer to."""
    reading = Reading(document)
    reading.value = _plugin(reading, (), document.value)
    return reading


def _plugin(reading: Reading, path: yaml.Path, body: object) -> object:
    if not isinstance(body, dict):
        reading.refuse("the settings of a generator or transformer are an object", path)
        return body
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    kind = body.get("kind")
    if body.get("apiVersion") != "builtin" or any(name in _FUNCTIONS for name in annotations or ()):
        reading.refuse(f"{kind} is not part of kustomize", path, _PROGRAM_HINT)
        return body
    if kind == "HelmChartInflationGenerator":
        reading.refuse(_CHARTS, path, _CHART_HINT)
        return body
    if kind not in BUILTINS:
        reading.refuse(f"{kind} is not part of kustomize", path, _PROGRAM_HINT)
        return body
    return _entry(reading, path, body, _IN_PLUGINS)


_Reader = Callable[[Reading, yaml.Path, object], object]


def _entry(
    reading: Reading, path: yaml.Path, body: json.JsonObject, readers: Mapping[str, _Reader]
) -> json.JsonObject:
    """Read those fields of an object that name files; others are not looked into."""
    checked = dict(body)
    for name, value in body.items():
        if name not in readers and name.casefold() in {known.casefold() for known in readers}:
            _refuse_name(reading, (*path, name), readers)
        elif name in readers and value is not None:
            checked[name] = readers[name](reading, (*path, name), value)
    return checked


def _refuse_name(reading: Reading, path: yaml.Path, known: Iterable[str]) -> None:
    name = str(path[-1])
    alike = [one for one in known if one.casefold() == name.casefold()]
    hint = f"write {alike[0]}" if alike else ""
    reading.refuse(f"{name} is no field of a kustomization", path, hint)


@dataclass(frozen=True, slots=True)
class _Paths:
    """A list of paths; a text alone where `single` says so."""

    role: Role
    single: bool = False

    def __call__(self, reading: Reading, path: yaml.Path, value: object) -> object:
        for place, text in _texts(reading, path, value, single=self.single):
            reading.refer(text, self.role, place)
        return value


def _texts(
    reading: Reading, path: yaml.Path, value: object, *, single: bool = False
) -> Iterator[tuple[yaml.Path, str]]:
    if single and isinstance(value, str):
        yield path, value
        return
    if single or not isinstance(value, list):
        reading.refuse("a text is expected" if single else "a list of texts is expected", path)
        return
    for index, text in enumerate(value):
        if isinstance(text, str):
            yield (*path, index), text
        else:
            reading.refuse("a text is expected", (*path, index))


def _sources(reading: Reading, path: yaml.Path, value: object) -> object:
    """Read ``files`` of a generator: paths, or ``key=path``."""
    for place, text in _texts(reading, path, value):
        key, separator, named = text.partition("=")
        if "=" in named:
            reading.refuse(f"{text} has more than one =", place, "write KEY=PATH")
        else:
            reading.refer(named if separator else key, Role.FILE, place)
    return value


def _plugins(reading: Reading, path: yaml.Path, value: object) -> object:
    """Read ``generators`` and their like: paths, or settings written in place."""
    return _in_place(reading, path, value, Role.PLUGIN, _plugin)


def _patches(reading: Reading, path: yaml.Path, value: object) -> object:
    """Read ``patchesStrategicMerge``: paths, or patches written in place."""
    return _in_place(reading, path, value, Role.FILE, lambda _reading, _path, body: body)


def _in_place(
    reading: Reading, path: yaml.Path, value: object, role: Role, read: _Reader
) -> object:
    written: list[object] = []
    for place, text in _texts(reading, path, value):
        bodies = _objects_in(text)
        if bodies:
            # As JSON nobody can take it for a path: kustomize tries that with what it cannot use.
            written.append(as_text([read(reading, place, body) for body in bodies]))
        else:
            reading.refer(text, role, place)
            written.append(text)
    return written


def _objects_in(text: str) -> list[object]:
    """Return the objects written in a text; none when it is something else: a path."""
    try:
        values = [document.value for document in yaml.load_all(text)]
    except errors.UserError:
        return []
    return values if values and all(isinstance(value, dict) for value in values) else []


def _refuse_charts(reading: Reading, path: yaml.Path, value: object) -> object:
    if value:
        reading.refuse(_CHARTS, path, _CHART_HINT)
    return value


@dataclass(frozen=True, slots=True)
class _Entries:
    """A list of objects, some of whose fields name files."""

    readers: Mapping[str, _Reader]

    def __call__(self, reading: Reading, path: yaml.Path, value: object) -> object:
        if not isinstance(value, list):
            reading.refuse("a list of objects is expected", path)
            return value
        checked: list[object] = []
        for index, body in enumerate(value):
            if isinstance(body, dict):
                checked.append(_entry(reading, (*path, index), body, self.readers))
            else:
                reading.refuse("an object is expected", (*path, index))
        return checked


def _schema(reading: Reading, path: yaml.Path, value: object) -> object:
    if not isinstance(value, dict):
        reading.refuse("an object is expected", path)
        return value
    return _entry(reading, path, value, {"path": _FILE})


def as_text(bodies: list[object], where: errors.Location = errors.NOWHERE) -> str:
    """Return documents as JSON that every reader of YAML reads alike.

    Raises:
        UserError: It would be too large: aliases made something of them that is far larger than
            what was written at `where`.
    """
    text = "\n---\n".join(_json(body, _LARGEST) for body in bodies)
    if len(text) > _LARGEST:
        raise errors.user_error(
            f"it is larger than {_LARGEST >> 20} MiB when its aliases are written out", where=where
        )
    return text


#: JSON that readers of YAML take for the end of a line, or refuse.
_FOREIGN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LARGEST = 16 * 1024 * 1024


def _json(body: object, enough: int) -> str:
    """Return a document as JSON, cut somewhere behind `enough` characters."""
    size, parts = 0, []
    for part in encoder.JSONEncoder(ensure_ascii=False).iterencode(body):
        size += len(part)
        parts.append(part)
        if size > enough:
            break
    return _FOREIGN.sub(lambda match: f"\\u{ord(match.group()):04x}", "".join(parts))


_FILE = _Paths(Role.FILE, single=True)
_FILES = _Paths(Role.FILE)
_PATCH = _Entries({"path": _FILE})
_SOURCES: Mapping[str, _Reader] = {"files": _sources, "envs": _FILES, "env": _FILE}
_IN_PLUGINS: Mapping[str, _Reader] = {
    **_SOURCES,
    "path": _FILE,
    "paths": _patches,
    "targetFilePath": _FILE,
    "replacements": _PATCH,
}
_OF_PLUGINS = ("apiVersion", "kind", "metadata", "resources")
#: Fields that name files, addresses or charts.
_FIELDS: Mapping[str, _Reader] = {
    "resources": _Paths(Role.RESOURCE),
    "bases": _Paths(Role.RESOURCE),
    "components": _Paths(Role.COMPONENT),
    "generators": _plugins,
    "transformers": _plugins,
    "validators": _plugins,
    "crds": _FILES,
    "configurations": _FILES,
    "openapi": _schema,
    "patches": _PATCH,
    "patchesJson6902": _PATCH,
    "patchesStrategicMerge": _patches,
    "replacements": _PATCH,
    "configMapGenerator": _Entries(_SOURCES),
    "secretGenerator": _Entries(_SOURCES),
    "helmCharts": _refuse_charts,
    "helmChartInflationGenerator": _refuse_charts,
    "helmGlobals": _refuse_charts,
}
#: All others that kustomize knows.
_WITHOUT_FILES = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata",
        "namePrefix",
        "nameSuffix",
        "namespace",
        "commonLabels",
        "commonAnnotations",
        "labels",
        "images",
        "imageTags",
        "replicas",
        "vars",
        "sortOptions",
        "generatorOptions",
        "inventory",
        "buildMetadata",
    }
)
#: All fields that are taken.
FIELDS = (*_FIELDS, *sorted(_WITHOUT_FILES))
