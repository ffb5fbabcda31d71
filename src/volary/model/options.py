"""How an option that users write is defined, beside its type: what it means and what it takes.

A field `weight: int = option("Percent of …", 10, least=1, most=100)` of a frozen dataclass is the
one definition of an option; one that has to be given is `Annotated[int, Option("Percent of …")]`.
`volary.config` reads files by it, in camelCase, and makes the JSON schemas and the reference pages
of it. A field without either is not written in files.
A class may say of keys that are no options of it: `refused` those that would change what is
deployed, where or to whom, `later` others of PipeCD that are not carried out yet, `misplaced`
those that people write there by mistake, with where they belong.
"""

import dataclasses
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Option:
    """Documents a field, and bounds it."""

    text: str
    #: Of a number, or of how many entries a list has.
    least: float | None = None
    most: float | None = None
    #: Of a number that has to be more than this.
    above: float | None = None
    #: It has to be written, although code may leave it out.
    required: bool = False
    #: Its name in files, where that is not the field's name in camelCase.
    key: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key that is not carried out, and that nobody may take for carried out."""

    #: What it would do.
    text: str
    #: What to do instead.
    hint: str


def option(
    text: str,
    default: T,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    required: bool = False,
    key: str = "",
) -> T:
    """Return a field with a default; the other words are those of `Option`."""
    known = {Option: Option(text, least, most, above, required, key)}
    made: Any
    if isinstance(default, dict | list):

        def copied() -> Any:
            # Not the method itself: pydantic reads the signature, and has to parse a builtin's.
            return default.copy()

        made = dataclasses.field(default_factory=copied, metadata=known)
    else:
        made = dataclasses.field(default=default, metadata=known)
    return made  # type: ignore[no-any-return]


def of(field: "dataclasses.Field[Any]", hint: object) -> Option | None:
    """Return what is known of a field of this type; None: it is not written in files."""
    marks = getattr(hint, "__metadata__", ())
    written: Option | None = field.metadata.get(Option)
    return written or next((mark for mark in marks if isinstance(mark, Option)), None)


class Form(Enum):
    """What a text has to look like."""

    #: Anything but empty.
    NOT_EMPTY = auto()
    #: A path that starts at the directory of the file it is written in.
    FILE = auto()
    #: A path inside the repository.
    PATH = auto()
    #: A list; one text alone may be written for it.
    ONE_OR_MANY = auto()
    #: ``10``, ``"10"`` or ``"10%"``.
    PERCENTAGE = auto()
    CLUSTER_NAME = auto()
    DNS_LABEL = auto()
    LABEL_KEY = auto()
    LABEL_VALUE = auto()
    #: What is before the slash of an annotation's name.
    ANNOTATION_PREFIX = auto()


Text = Annotated[str, Form.NOT_EMPTY]
File = Annotated[str, Form.FILE]
RequiredFile = Annotated[str, Form.FILE, Form.NOT_EMPTY]
Path = Annotated[str, Form.PATH]
Percentage = Annotated[int, Form.PERCENTAGE]
ClusterName = Annotated[str, Form.CLUSTER_NAME]
DnsLabel = Annotated[str, Form.DNS_LABEL]
LabelKey = Annotated[str, Form.LABEL_KEY]
LabelValue = Annotated[str, Form.LABEL_VALUE]
AnnotationPrefix = Annotated[str, Form.ANNOTATION_PREFIX]
