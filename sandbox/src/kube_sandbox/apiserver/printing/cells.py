"""What cells of many kinds share: reading fields, joining names, the column type."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.apiserver.printing import durations

Cell = str | int | bool | None
Reader = Callable[[json.JsonObject, datetime], Cell]

NONE = "<none>"
UNSET = "<unset>"
_NAME_TEXT = (
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_AGE_TEXT = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the "
    "system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading and how a cell is read from an object at a time."""

    name: str
    read: Reader
    type: str = "string"
    format: str = ""
    description: str = ""
    #: 0 is always shown, 1 with ``-o wide`` only.
    priority: int = 0


def column(
    name: str, read: Callable[[json.JsonObject], Cell], *, kind: str = "string", wide: bool = False
) -> Column:
    """A column whose cells do not depend on the time."""
    return Column(name, lambda obj, _: read(obj), type=kind, priority=1 if wide else 0)


def number(name: str, read: Callable[[json.JsonObject], Cell]) -> Column:
    """A column of numbers."""
    return column(name, read, kind="integer")


NAME = Column("Name", lambda obj, _: objects.name(obj), format="name", description=_NAME_TEXT)
AGE = Column(
    "Age", lambda obj, now: durations.age(objects.created(obj), now), description=_AGE_TEXT
)
CREATED_AT = Column("Created At", lambda obj, _: objects.created(obj))


def selector(value: json.JsonObject | None) -> str:
    """Write a LabelSelector as kubectl takes it: ``app=web,tier in (a,b)``."""
    if not value:
        return NONE
    parts = [f"{key}={text}" for key, text in sorted((value.get("matchLabels") or {}).items())]
    for each in value.get("matchExpressions") or ():
        key, operator = each.get("key"), each.get("operator")
        values = ",".join(each.get("values") or ())
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": f"{key}",
                "DoesNotExist": f"!{key}",
            }.get(str(operator), f"{key} {operator}")
        )
    return ",".join(parts) or NONE


def labels(value: Mapping[str, str] | None) -> str:
    """Write labels: ``app=web,tier=a``."""
    return ",".join(f"{key}={text}" for key, text in sorted((value or {}).items())) or NONE


def joined(values: Sequence[str], *, empty: str = NONE) -> str:
    """Write values with commas between."""
    return ",".join(values) or empty


def template_containers(obj: json.JsonObject) -> list[json.JsonObject]:
    """The containers of a workload's template."""
    template = objects.spec(obj).get("template") or {}
    return list((template.get("spec") or {}).get("containers") or ())


CONTAINERS = column(
    "Containers",
    lambda obj: joined([str(each["name"]) for each in template_containers(obj)], empty=""),
    wide=True,
)
IMAGES = column(
    "Images",
    lambda obj: joined([str(each.get("image", "")) for each in template_containers(obj)], empty=""),
    wide=True,
)
SELECTOR = column("Selector", lambda obj: selector(objects.selector(obj)), wide=True)
