"""The stages of the translated pipeline, put together in their order."""

from dataclasses import dataclass
from typing import Any

from volary.config.dialects.flagger import source
from volary.config.text import yaml

_STAGES: yaml.Path = ("spec", "pipeline", "stages")


@dataclass(slots=True)
class Steps:
    """Appends stages to the draft."""

    to: source.Source
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

    to: source.Source
    path: yaml.Path

    def set(self, name: str, value: Any, written: yaml.Path) -> None:
        """Set an option."""
        self.to.put((*self.path, "with", name), value, written)
