"""Which form of an answer a client accepts."""

import functools
from dataclasses import dataclass
from enum import StrEnum

from kube_sandbox.apimachinery.meta import api_errors

_JSON = frozenset(("application/json", "application/*", "*/*"))
_YAML = "application/yaml"


class Shape(StrEnum):
    """What is made of objects before they are written."""

    OBJECT = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"


_SHAPES = frozenset(each.value for each in Shape)


@dataclass(frozen=True, slots=True)
class Form:
    """The answer's form."""

    shape: Shape = Shape.OBJECT
    #: Written as YAML instead of JSON.
    yaml: bool = False
    #: ``meta.k8s.io`` version of tables and partial objects.
    version: str = "v1"

    @property
    def partial(self) -> bool:
        """Only metadata is wanted."""
        return self.shape in (Shape.PARTIAL, Shape.PARTIAL_LIST)


@dataclass(frozen=True, slots=True)
class MediaType:
    """One entry of an Accept header."""

    name: str
    parameters: dict[str, str]
    quality: float


def media_types(header: str) -> list[MediaType]:
    """Read an Accept header; the most wanted first."""
    found = []
    for part in header.split(","):
        name, *rest = (each.strip() for each in part.split(";"))
        parameters = dict(each.partition("=")[::2] for each in rest)
        if name:
            found.append(MediaType(name.lower(), parameters, _quality(parameters.get("q", "1"))))
    return sorted(found, key=lambda each: -each.quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@functools.lru_cache(maxsize=256)
def choose(header: str) -> Form:
    """Return the form to answer in.

    Raises:
        api_errors.StatusError: 406, none of what is accepted can be written (protobuf, say).
    """
    if not header.strip():
        return Form()
    for media in media_types(header):
        wanted = media.parameters.get("as", "")
        if media.name not in _JSON and media.name != _YAML:
            continue
        if wanted not in _SHAPES:
            continue
        return Form(Shape(wanted), media.name == _YAML, media.parameters.get("v", "v1"))
    message = "only the following media types are accepted: application/json, application/yaml"
    raise api_errors.StatusError(406, message)
