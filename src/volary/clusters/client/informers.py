"""Informers: what watches tell of whole collections, kept once for all who use the same client.

An informer is one kind in one namespace. Who follows it shares one watch with all others
(`watching.shared_watches`), and asks here before asking the cluster. What is not certainly as new
as an answer would be is not known here: while nothing was listed yet, the stream is not open, the
cluster was silent for long, or what this client wrote has not come back. A client acts for one
identity and informers belong to it, so nobody learns from them what the cluster would not tell.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from volary.clusters.api import discovery, label_selectors
from volary.clusters.client import watches
from volary.manifests import objects
from volary.model import errors, json

#: Seconds without a word of the cluster after which it is asked all the same.
_SILENCE = 20.0
#: Seconds that a written object has to come back before it is asked for.
_PATIENCE = 1.0
_Key = tuple[str, str, str]
_Label = tuple[str, str]
#: What is kept of kinds of which there are many: no more is read of them here.
_PARTS = {
    "pods": ("status", ("phase", "conditions")),
    "endpointslices.discovery.k8s.io": ("endpoints", ()),
}
_METADATA = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels")


def parts_of(resource: discovery.Resource, body: json.JsonObject) -> json.JsonObject:
    """Return what is kept of an object: all of it, but for pods and EndpointSlices."""
    wanted = _PARTS.get(resource.title)
    if wanted is None:
        return body
    name, fields = wanted
    part = body.get(name) or {}
    metadata = objects.mapping(body, "metadata")
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        name: {key: part[key] for key in fields if key in part} if fields else part,
    }


@dataclass(slots=True)
class Informer:
    """One kind in one namespace; `keep` takes what a watch tells."""

    resource: discovery.Resource
    standing: watches.Standing = field(default_factory=watches.Standing)
    #: All of it has been listed once.
    is_listed: bool = False
    #: Why it is not followed any more; None: it is.
    error: errors.VolaryError | None = None
    #: When it told something last, in the loop's time.
    heard: float = float("-inf")
    _bodies: dict[str, json.JsonObject] = field(default_factory=dict)
    _labelled: dict[_Label, dict[str, json.JsonObject]] = field(default_factory=dict)
    #: Objects that were written and have not come back, with their version; empty: any will do.
    _written: dict[str, str] = field(default_factory=dict)
    _listeners: "list[tuple[Mapping[str, str], asyncio.Event]]" = field(default_factory=list)
    _returning: "dict[str, set[asyncio.Event]]" = field(default_factory=dict)

    def listed(self) -> None:
        """Take that all of it is known."""
        self.is_listed = True
        self.heard = asyncio.get_running_loop().time()

    def keep(self, name: str, body: json.JsonObject | None) -> None:
        """Take an object as it is now; None: it is gone."""
        self.heard = asyncio.get_running_loop().time()
        before = self._bodies.pop(name, None)
        kept = None if body is None else parts_of(self.resource, body)
        for label in _labels(before):
            self._labelled[label].pop(name, None)
            if not self._labelled[label]:
                del self._labelled[label]
        if kept is not None:
            self._bodies[name] = kept
            for label in _labels(kept):
                self._labelled.setdefault(label, {})[name] = kept
        if name in self._written and _has_come_back(kept, self._written[name]):
            del self._written[name]
            for waiting in self._returning.pop(name, ()):
                waiting.set()
        for wanted, event in self._listeners:
            if any(label_selectors.matches(wanted, dict(_labels(one))) for one in (before, kept)):
                event.set()

    def end(self, error: errors.VolaryError) -> None:
        """Take why it is not followed any more, and wake who listens."""
        self.error = error
        for _, event in self._listeners:
            event.set()

    def wrote(self, name: str, version: str) -> None:
        """Know nothing of an object until it has come back as it was written, or newer."""
        if not (version and _has_come_back(self._bodies.get(name), version)):
            self._written[name] = version

    @contextmanager
    def listening(self, labels: Mapping[str, str], changed: asyncio.Event) -> Iterator[None]:
        """Set `changed` at each change of an object with `labels`, and when it is the end."""
        listener = (labels, changed)
        self._listeners.append(listener)
        try:
            yield
        finally:
            # By identity: two may listen for the same.
            self._listeners = [one for one in self._listeners if one is not listener]

    def last_told(self, labels: Mapping[str, str]) -> tuple[json.JsonObject, ...]:
        """Return the objects with all of `labels`, as they were told last."""
        if not labels:
            return tuple(self._bodies.values())
        sets = [self._labelled.get(label, {}) for label in labels.items()]
        fewest = min(sets, key=len)
        return tuple(
            body
            for name, body in fewest.items()
            if all(name in others for others in sets if others is not fewest)
        )

    def list(
        self, labels: Mapping[str, str], answered: float
    ) -> tuple[json.JsonObject, ...] | None:
        """Return the objects with all of `labels`; None: that is not known."""
        if self._written or not self._is_current(answered):
            return None
        return self.last_told(labels)

    def get(self, name: str, answered: float) -> json.JsonObject | None:
        """Return an object; None: it is not known."""
        if name in self._written or not self._is_current(answered):
            return None
        return self._bodies.get(name)

    async def come_back(self, name: str) -> None:
        """Return when an object has come back as it was written, or after a while."""
        if name not in self._written or not (self.is_listed and self.standing.is_open):
            return
        event = asyncio.Event()
        self._returning.setdefault(name, set()).add(event)
        try:
            async with asyncio.timeout(_PATIENCE):
                await event.wait()
        except TimeoutError:
            return
        finally:
            waiting = self._returning.get(name, set())
            waiting.discard(event)
            if not waiting:
                self._returning.pop(name, None)

    def _is_current(self, answered: float) -> bool:
        now = asyncio.get_running_loop().time()
        return (
            self.error is None
            and self.is_listed
            and self.standing.is_open
            and now - max(answered, self.heard) <= _SILENCE
        )


class Informers:
    """Those of one client; what none of them knows is None, and the cluster has to be asked."""

    def __init__(self, answered: Callable[[], float]) -> None:
        self._open: dict[_Key, Informer] = {}
        #: When the cluster last answered this client, in the loop's time.
        self.answered = answered

    def open(self, resource: discovery.Resource, namespace: str) -> Informer:
        """Return a new informer, which is asked from now on."""
        made = self._open[_key(resource, namespace)] = Informer(resource)
        return made

    def close(self, namespace: str, informer: Informer) -> None:
        """Ask an informer no more."""
        key = _key(informer.resource, namespace)
        if self._open.get(key) is informer:
            del self._open[key]

    def list(
        self, resource: discovery.Resource, namespace: str, labels: Mapping[str, str]
    ) -> tuple[json.JsonObject, ...] | None:
        """Return the objects of a namespace with all of `labels`."""
        informer = self._open.get(_key(resource, namespace))
        return None if informer is None else informer.list(labels, self.answered())

    def get(
        self, resource: discovery.Resource, name: str, namespace: str
    ) -> json.JsonObject | None:
        """Return an object; also None when it is not there."""
        informer = self._open.get(_key(resource, namespace))
        return None if informer is None else informer.get(name, self.answered())

    async def read_back(
        self, resource: discovery.Resource, name: str, namespace: str
    ) -> json.JsonObject | None:
        """Return an object as it is after the last write of this client, as a watch tells it."""
        informer = self._open.get(_key(resource, namespace))
        if informer is None:
            return None
        await informer.come_back(name)
        return informer.get(name, self.answered())

    def wrote(self, resource: discovery.Resource, name: str, namespace: str, version: str) -> None:
        """Take what was written; an empty version: perhaps it was, or it is being deleted."""
        informer = self._open.get(_key(resource, namespace))
        if informer is not None:
            informer.wrote(name, version)


def _key(resource: discovery.Resource, namespace: str) -> _Key:
    return resource.base, resource.plural, namespace


def _labels(body: json.JsonObject | None) -> tuple[_Label, ...]:
    return () if body is None else tuple(objects.mapping(body, "metadata", "labels").items())


def _has_come_back(body: json.JsonObject | None, version: str) -> bool:
    """Say whether a version is that of a write, or newer: API servers count them (KEP-5504)."""
    if body is None or not version:
        return True
    told = objects.text(body, "metadata", "resourceVersion")
    return told == version or (
        told.isdecimal() and version.isdecimal() and int(told) >= int(version)
    )
