"""What every object of a file is read as; the ground of `sections` and its neighbours."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import pydantic
from pydantic import Field, alias_generators

Text = Annotated[str, Field(min_length=1)]


class Section(pydantic.BaseModel):
    """An object of a file; names are written in camelCase."""

    model_config = pydantic.ConfigDict(
        alias_generator=alias_generators.to_camel, extra="forbid", frozen=True, defer_build=True
    )

    #: PipeCD's fields that are not carried out yet, with what they would do.
    later: ClassVar[Mapping[str, str]] = {}
    #: Fields that people write here by mistake, with where they belong.
    misplaced: ClassVar[Mapping[str, str]] = {}
    #: Its keys name plugins: others than ours are not carried out, those listed have no options.
    without_options: ClassVar[frozenset[str] | None] = None


class ObjectReference(Section):
    """Points at manifests by kind and name."""

    kind: str = Field(default="", description="Kind; empty: the usual one for the place.")
    name: str = Field(default="", description="Name; empty: any.")
