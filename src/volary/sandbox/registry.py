"""The verbs of one cluster, in this process: what HTTP handlers and controllers both call.

A write goes through what kube-apiserver does, in its order: decode (unknown
fields), defaults, managed fields, what the kind prepares (names, uid,
generation, addresses), validation, conflicts, storage. All verbs are synchronous
and atomic on the event loop. Objects handed out are shared: read only.

Every refusal is a `status.StatusError`.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from volary.model import clock, json
from volary.sandbox import kinds, storage


class Validation(StrEnum):
    """What becomes of unknown and repeated fields (``fieldValidation``)."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


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
    #: Fields that occurred more than once in the body's text.
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What has to be true of the stored object; empty: not asked."""

    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """``DeleteOptions``."""

    #: ``Background``, ``Foreground``, ``Orphan``; empty: the kind's default.
    propagation: str = ""
    #: Seconds; None: the object's own.
    grace_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    dry_run: bool = False


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


@dataclass(slots=True)
class Settings:
    """What may differ from cluster to cluster."""

    #: Changes per kind that watchers may fall behind.
    history: int = 512
    seed: int | None = None
    #: First three parts of clusterIPs, ``10.96``.
    service_network: str = "10.96"
    node_ports: range = field(default_factory=lambda: range(30000, 32768))


class Registry:
    """One cluster's verbs. `namespace` is empty for cluster-scoped kinds."""

    def __init__(self, time: clock.Clock, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.time = time
        self.random = random.Random(self.settings.seed)
        self.storage = storage.Storage(history=self.settings.history)

    # Kinds

    def kind(self, api_version: str, name: str) -> kinds.Kind:
        """Return a served kind (``apps/v1``, ``Deployment``), or raise 404."""
        raise NotImplementedError

    def kind_of(self, body: json.JsonObject) -> kinds.Kind:
        """Return the kind an object names, or raise 404."""
        raise NotImplementedError

    @property
    def served(self) -> Sequence[kinds.Kind]:
        """All kinds served now, custom resources included."""
        raise NotImplementedError

    # Reading

    def find(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject | None:
        """Return an object, or None."""
        raise NotImplementedError

    def get(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
        """Return an object, or raise 404."""
        raise NotImplementedError

    def objects(self, kind: kinds.Kind, namespace: str = "") -> list[json.JsonObject]:
        """Return all objects of a kind, sorted by namespace and name."""
        raise NotImplementedError

    def list(self, kind: kinds.Kind, namespace: str = "", query: Query | None = None) -> Listing:
        """Return a page of objects, as the API's list does; raises 400 and 410."""
        raise NotImplementedError

    def subscribe(self, subscriber: storage.Subscriber) -> Callable[[], None]:
        """Hear of every change of every kind; see `storage.Storage.subscribe`."""
        return self.storage.subscribe(subscriber)

    # Writing

    def create(
        self,
        kind: kinds.Kind,
        namespace: str,
        body: json.JsonObject,
        options: Options | None = None,
    ) -> Written:
        """Create an object; raises 409, 422, 403 (namespace), 404 (no namespace)."""
        raise NotImplementedError

    def update(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: json.JsonObject,
        options: Options | None = None,
        *,
        subresource: str = "",
    ) -> Written:
        """Replace an object, or with `subresource` ``status`` or ``scale`` that part of it.

        A resourceVersion in `body` must be the stored one (409).
        """
        raise NotImplementedError

    def update_status(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: json.JsonObject,
        options: Options | None = None,
    ) -> Written:
        """Replace an object's status."""
        raise NotImplementedError

    def patch(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        patch: object,
        patch_type: PatchType,
        options: Options | None = None,
        *,
        subresource: str = "",
    ) -> Written:
        """Change an object by a patch."""
        raise NotImplementedError

    def apply(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        body: json.JsonObject,
        options: Options,
        *,
        subresource: str = "",
    ) -> Written:
        """Server-side apply as ``options.manager``; creates what is missing."""
        raise NotImplementedError

    def delete(
        self,
        kind: kinds.Kind,
        namespace: str,
        name: str,
        deletion: Deletion | None = None,
    ) -> Deleted:
        """Delete an object, or mark it when finalizers or a grace period hold it."""
        raise NotImplementedError

    def delete_collection(
        self,
        kind: kinds.Kind,
        namespace: str,
        query: Query | None = None,
        deletion: Deletion | None = None,
    ) -> list[Deleted]:
        """Delete all objects that match."""
        raise NotImplementedError

    # Subresources controllers use

    def scale(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
        """Return the ``autoscaling/v1`` Scale of an object."""
        raise NotImplementedError

    def finalize(self, name: str, body: json.JsonObject) -> Written:
        """Write a namespace's ``spec.finalizers``; the last one gone, the namespace goes."""
        raise NotImplementedError

    def bind(self, namespace: str, pod: str, node: str) -> Written:
        """Give a pod its node (``pods/binding``); raises 409 when it has one."""
        raise NotImplementedError

    def evict(self, namespace: str, pod: str, deletion: Deletion | None = None) -> Deleted:
        """Delete a pod if its disruption budgets allow it; raises 429."""
        raise NotImplementedError
