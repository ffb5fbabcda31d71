"""`analysisProviders`: the systems that are asked for measurements, in fleet and settings files."""

from collections.abc import Sequence
from typing import Annotated

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.text import yaml
from volary.model import metric_providers, options

_AT: yaml.Path = ("analysisProviders",)


class ProviderEntry(base_sections.Section):
    """A system that is asked for measurements."""

    name: base_sections.Text = Field(description="What metrics call it by.")
    type: Annotated[metric_providers.ProviderType, pydantic.BeforeValidator(values.lower)] = Field(
        description="What it speaks."
    )
    config: dict[str, object] = options.option("Where it is and how it is asked; by type.", {})


def convert(
    reading: readings.Reading,
    read: Sequence[ProviderEntry],
    directory: str,
    clusters: Sequence[str] | None = None,
) -> tuple[metric_providers.Provider, ...]:
    """Return the providers; problems are noted.

    Args:
        reading: The file.
        read: The entries.
        directory: Where the file is; relative paths start there.
        clusters: Names of the fleet's; None: they are not known here.
    """
    providers: list[metric_providers.Provider] = []
    for i, entry in enumerate(read):
        if any(entry.name == other.name for other in read[:i]):
            reading.error((*_AT, i, "name"), f"the provider {entry.name} is listed twice")
        made = convert_one(reading, entry, directory, (*_AT, i), clusters)
        if made is not None:
            providers.append(made)
    return tuple(providers)


def convert_one(
    reading: readings.Reading,
    read: ProviderEntry,
    directory: str,
    at: yaml.Path,
    clusters: Sequence[str] | None = None,
) -> metric_providers.Provider | None:
    """Return a provider; None when its `config` cannot be read, which is noted."""
    from volary.config.fleet import provider_readers  # thirteen types: once there is a provider

    place = provider_readers.Place(reading, directory, (*at, "config"))
    return provider_readers.convert(place, read.name, read.type, read.config, clusters)
