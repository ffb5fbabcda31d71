"""How an option that users write is defined, beside its type: what it means and what it takes.

A field `Annotated[int, Option("Percent of …", least=1, most=100)]` of a frozen dataclass is the one
definition of an option. `volary.config` reads files by it, in camelCase, and makes the JSON
schemas and the reference pages of it. A field without an `Option` is not written in files.
A class may say of keys that are no options of it: `later` those of PipeCD that are not carried
out yet, `misplaced` those that people write there by mistake, with where they belong.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Option:
    """Documents a field, and bounds it."""

    text: str
    #: Of a number, or of how many entries a list has.
    least: int | None = None
    most: int | None = None
    #: It has to be written, although code may leave it out.
    required: bool = False
    #: Its name in files, where that is not the field's name in camelCase.
    key: str = ""


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
ClusterName = Annotated[str, Form.CLUSTER_NAME]
DnsLabel = Annotated[str, Form.DNS_LABEL]
LabelKey = Annotated[str, Form.LABEL_KEY]
LabelValue = Annotated[str, Form.LABEL_VALUE]
AnnotationPrefix = Annotated[str, Form.ANNOTATION_PREFIX]
