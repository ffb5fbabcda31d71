"""A file of our own dialect in the making, every value with the place it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.text import yaml, yaml_tree
from volary.model import errors, json, options


class CustomResource(base_sections.Section):
    """An object of another project's kind; `status` is what its own controller has noted."""

    api_version: base_sections.Text = Field(description="Group and version.")
    kind: base_sections.Text = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Name, namespace, labels, annotations.")
    status: Any = options.option("Not looked at.", None)


@dataclass(slots=True)
class Draft:
    """The document so far."""

    #: Where everything comes from that has no place of its own.
    origin: errors.Location
    value: json.JsonObject = field(default_factory=dict)
    _origins: dict[yaml.Path, errors.Location] = field(default_factory=dict)

    def put(self, path: yaml.Path, value: Any, origin: errors.Location | None = None) -> None:
        """Set `value` at `path`, whose objects are made as needed; lists grow by one entry."""
        at: Any = self.value
        for i, step in enumerate(path[:-1]):
            missing: Any = [] if isinstance(path[i + 1], int) else {}
            if isinstance(at, list):
                while len(at) <= int(step):
                    at.append(missing)
                at = at[int(step)]
            else:
                at = at.setdefault(step, missing)
        if isinstance(at, list):
            at.insert(int(path[-1]), value)
        else:
            at[path[-1]] = value
        if origin is not None:
            self._origins[path] = origin

    def came_from(self, path: yaml.Path, origin: errors.Location) -> None:
        """Note where the value at `path` comes from."""
        self._origins[path] = origin

    def place(self, path: yaml.Path) -> errors.Location:
        """Return where the value at `path`, or the closest one around it, comes from."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._origins:
                return self._origins[path[:length]]
        return self.origin

    def document(self) -> yaml.Document:
        """Return the document, whose places are those of the file it was translated from."""
        mark = self._mark(self.value, ())
        return Translated(self.value, self.origin.file, self.origin.line, mark, self)

    def _mark(self, value: Any, path: yaml.Path) -> yaml_tree.Mark:
        mark = yaml_tree.Mark(self.place(path).line)
        if isinstance(value, Mapping):
            mark.entries = {key: self._mark(inner, (*path, key)) for key, inner in value.items()}
        elif isinstance(value, list):
            mark.items = [self._mark(inner, (*path, i)) for i, inner in enumerate(value)]
        return mark


@dataclass(frozen=True, slots=True)
class Translated(yaml.Document):
    """A document that was written by nobody: it came from another file's."""

    draft: Draft

    def where(self, path: yaml.Path = ()) -> errors.Location:
        """Return the place that `path` came from."""
        return self.draft.place(path)


@dataclass(frozen=True, slots=True)
class Translation:
    """What another project's files mean in our own dialect, and what is wrong or different."""

    #: As far as it came, where there are errors.
    draft: Draft
    problems: tuple[errors.Problem, ...]
    #: What belongs into the controller's settings instead.
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def has_errors(self) -> bool:
        """Something has to be mended first."""
        return bool(errors.mistakes(self.problems))


def text(value: object, key: str) -> str:
    """Return the text at `key` of an object; empty when there is none."""
    entry = value.get(key) if isinstance(value, dict) else None
    return entry if isinstance(entry, str) else ""
