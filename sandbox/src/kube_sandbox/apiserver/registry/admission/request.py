"""A write as admission sees it."""

from dataclasses import dataclass
from enum import StrEnum

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.storage import verbs


class Operation(StrEnum):
    """What is done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Request:
    """One write, with the object before and after it."""

    operation: Operation
    kind: kinds.Kind
    namespace: str
    name: str
    #: None: it is deleted.
    body: json.JsonObject | None
    #: None: it is created.
    old: json.JsonObject | None
    user: verbs.User
    subresource: str = ""
    dry_run: bool = False

    def refuse(self, why: str) -> api_errors.StatusError:
        """Build the 403 a plugin answers with."""
        return api_errors.forbidden(self.kind.group, self.kind.plural, self.name, why)
