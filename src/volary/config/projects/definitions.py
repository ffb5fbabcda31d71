"""What every kind of definition has in common: its head, and what it is checked against."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.model import options

Defined = TypeVar("Defined")


class Metadata(base_sections.Section):
    """What a definition is called."""

    name: options.DnsLabel = Field(
        min_length=1,
        description="Name, unique among those of its kind: lower case letters, digits and dashes.",
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What files are checked against."""

    #: The receivers of the settings; None: not known, so that none is missing.
    receivers: tuple[str, ...] | None = None
    #: The repositories of the settings; None: not known, so that none is missing.
    repositories: tuple[str, ...] | None = None
    #: They come from a repository: nothing of this machine may be named in them.
    are_in_git: bool = False
    #: Where they are; relative paths start there.
    directory: str = ""
    #: Projects may be written in files that are not read here, so that none is missing.
    are_part: bool = False


@dataclass(frozen=True, slots=True)
class DefinitionKind(Generic[Defined]):
    """One kind of documents."""

    #: As it is written in `kind`.
    name: str
    #: The fields of a whole document.
    section: type[base_sections.Section]
    #: Returns what a document says; problems are noted.
    convert: Callable[[readings.Reading, Surroundings], Defined | None]


@dataclass(frozen=True, slots=True)
class Definitions:
    """What the files of a server say, by kind and name."""

    by_kind: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def of(self, kind: DefinitionKind[Defined]) -> Mapping[str, Defined]:
        """Return all definitions of a kind by their names."""
        # Files are read by kind: what is kept under its name is what the kind made.
        return self.by_kind.get(kind.name, {})  # type: ignore[return-value]

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield kind and name of each."""
        for kind, known in self.by_kind.items():
            for name in known:
                yield kind, name

    def joined(self, others: "Definitions") -> "Definitions":
        """Return these and others, which have other names."""
        kinds = {*self.by_kind, *others.by_kind}
        return Definitions(
            {kind: {**self.by_kind.get(kind, {}), **others.by_kind.get(kind, {})} for kind in kinds}
        )
