"""The words of the registry's verbs: how a write is meant, what is asked for, what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import field_validation
from kube_sandbox.apiserver.storage import storage


class Validation(StrEnum):
    """What becomes of unknown and repeated fields (``fieldValidation``)."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class User:
    """Who makes a request, as authentication found out."""

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def administrator(self) -> bool:
        """Everything is allowed."""
        return "system:masters" in self.groups


#: Who writes when nobody asked over HTTP: controllers and the server itself.
CLUSTER = User("system:kube-sandbox", ("system:masters", "system:authenticated"))


@dataclass(frozen=True, slots=True)
class Options:
    """How a write is meant."""

    #: ``fieldManager``; empty: the first word of `agent`.
    manager: str = ""
    #: The User-Agent of the caller, ``kubectl/v1.36.0 (…)``; controllers pass their name.
    agent: str = "sandbox"
    #: Do everything but store.
    dry_run: bool = False
    validation: Validation = Validation.IGNORE
    #: Server-side apply: take fields from other managers.
    force: bool = False
    #: What field validation says about the body's text.
    faults: field_validation.TextFaults = field_validation.NO_FAULTS
    user: User = CLUSTER

    @property
    def owner(self) -> str:
        """The name under which fields are owned."""
        return self.manager or self.agent.partition("/")[0][:128] or "unknown"


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What has to be true of the stored object; empty: not asked."""

    uid: str = ""
    resource_version: str = ""


NO_PRECONDITIONS = Preconditions()


@dataclass(frozen=True, slots=True)
class Deletion:
    """``DeleteOptions``."""

    #: ``Background``, ``Foreground``, ``Orphan``; empty: the kind's default.
    propagation: str = ""
    #: Seconds; None: the object's own.
    grace_seconds: int | None = None
    preconditions: Preconditions = NO_PRECONDITIONS
    dry_run: bool = False
    user: User = CLUSTER


class PatchType(StrEnum):
    """The ways to write a patch, by media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left behind."""

    body: json.JsonObject
    created: bool = False
    #: For ``Warning`` headers.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion did."""

    #: The last state, or the state marked for deletion.
    body: json.JsonObject
    #: False: it waits for its finalizers or its grace period.
    gone: bool


@dataclass(frozen=True, slots=True)
class Query:
    """Which objects of a kind are meant; selectors as in the API's query."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    #: ``Exact``, ``NotOlderThan`` or empty.
    match: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of objects."""

    items: Sequence[storage.Item]
    #: The resourceVersion to watch from.
    revision: int
    continue_token: str = ""
    #: How many are left; None when unknown (with selectors) or nothing is left.
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ from cluster to cluster."""

    #: Changes per kind that watchers may fall behind.
    history: int = 512
    #: For names and addresses; None: different in every run.
    seed: int | None = None
    #: The first two parts of clusterIPs.
    service_network: str = "10.96"
    node_ports: range = field(default_factory=lambda: range(30000, 32768))
