"""Whether a write may be sent, asked right before it is: of what, where, and what for.

Whoever opens a client says by which rule it writes. The rule is asked each time anew, so that it
speaks of what is permitted at that moment. Dry runs are asked for as well: what they would show is
not for everybody, and their answer is that of the write they stand for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from volary.clusters.api import discovery
from volary.manifests import objects
from volary.model import json
from volary.model.objects import own_records


class Purpose(StrEnum):
    """What a write is for: said by who writes it, never by what is written."""

    #: Something of the application: its manifests, copies of them, routes, what it prunes.
    CONTENT = "content"
    #: Volary's own records of the application: its inventory, adopted objects as they were.
    BOOKKEEPING = "bookkeeping"


@dataclass(frozen=True, slots=True)
class Write:
    """One object that is to be created, changed or deleted."""

    resource: discovery.Resource
    #: Empty: it belongs to the whole cluster, or has none.
    namespace: str
    #: Empty: the API server makes one.
    name: str
    purpose: Purpose = Purpose.CONTENT


#: Returns why a write may not be sent, a sentence; empty: it may.
WriteRule = Callable[[Write], str]


def permit_all(_: Write) -> str:
    """Return nothing: everything may be written, as far as the cluster lets it."""
    return ""


def refuse_own_writes(_: Write) -> str:
    """Return why a server writes nothing with its own clients: it has to be said for whom."""
    return "the server itself writes nothing to clusters"


def may_have_kept(rule: WriteRule, record: json.JsonObject, resource: discovery.Resource) -> bool:
    """Say whether a record of Volary's own may have been written by this rule.

    Who may write to another namespace of the cluster could have made one there that says it is of
    somebody else's application. The server's own client writes none, and believes all of them.
    """
    name = objects.text(record, "metadata", "name")
    return own_records.is_record(resource.group, resource.kind, name) and _may_have_written(
        rule, record, resource, Purpose.BOOKKEEPING
    )


def may_have_written(rule: WriteRule, body: json.JsonObject, resource: discovery.Resource) -> bool:
    """Say whether an object may have been written by this rule, whatever its labels say."""
    return _may_have_written(rule, body, resource, Purpose.CONTENT)


def _may_have_written(
    rule: WriteRule, body: json.JsonObject, resource: discovery.Resource, purpose: Purpose
) -> bool:
    metadata = objects.mapping(body, "metadata")
    place, name = objects.text(metadata, "namespace"), objects.text(metadata, "name")
    return rule is refuse_own_writes or not rule(Write(resource, place, name, purpose))
