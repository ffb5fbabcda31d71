"""Waiting until objects are ready, or gone, by watching them.

One watch for each kind and namespace, narrowed by label, and one for the pods behind
the workloads; nothing is asked twice. `readiness` decides, this module listens.
Waiting ends early when waiting longer cannot help.
"""

import asyncio
import functools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from volary.clusters.api import discovery, label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import collection_watch, crash_loops, readiness
from volary.manifests import objects
from volary.manifests.health import conditions, health_rules
from volary.model import json
from volary.model.objects import manifest, object_health

#: Groups whose kinds are what they should be once they are written.
_READY_WHEN_CREATED = (".k8s.io", ".istio.io")
#: Groups whose kinds have something to wait for; custom kinds count as well.
_WAITED = (("apps", ""), ("batch", "Job"), ("", "Pod"), ("apiextensions.k8s.io", ""))
#: Finalizers while the garbage collector deletes what depends on an object, or lets go of it.
_GOING = ("foregroundDeletion", "orphan")
_IMAGE_GRACE = timedelta(seconds=20)
#: How long a controller that has said nothing yet may take to say something.
_STATUS_GRACE = timedelta(seconds=5)


class End(StrEnum):
    """How a wait ended."""

    READY = "ready"
    #: Waiting longer could not have helped.
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    #: Somebody asked to stop waiting.
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class WaitResult:
    """How a wait ended, and the sentence that says what was seen last."""

    end: End
    sentence: str
    ready: int = 0
    total: int = 0
    #: Objects that count as ready only because no rule says when they are.
    unassessed: tuple[str, ...] = ()
    #: Objects that were to go and are still there.
    held: frozenset[manifest.ResourceKey] = frozenset()
    #: The objects that were waited for, as they were seen last.
    observed: Mapping[manifest.ResourceKey, json.JsonObject] = field(
        default_factory=dict, compare=False
    )


async def never() -> None:
    """Never return: the default of whoever could ask to stop."""
    await asyncio.Event().wait()


async def wait_ready(
    client: clients.Client,
    manifests: Sequence[manifest.Manifest],
    *,
    timeout: timedelta,
    rules: Sequence[object_health.Rule] = (),
    image_grace: timedelta = _IMAGE_GRACE,
    progress: Callable[[readiness.Readiness], None] = lambda _seen: None,
    stop: Callable[[], Awaitable[None]] = never,
) -> WaitResult:
    """Wait until every one of `manifests` is ready in its newest generation.

    Only kinds that can be waited for are watched: workloads, Jobs, pods, definitions,
    custom kinds and those that a user's rule is for. What needs no waiting counts as ready.

    A custom object of whose health nobody knows anything is ready once it is there, and is
    said to be (`WaitResult.unassessed`): waiting longer would never end. Where its kind has a
    status of its own, the controller first gets a moment to write one.

    An image that cannot be pulled, or another trouble that seldom mends, may last `image_grace`
    before the wait gives up; a container of the newest revision that is in a crash loop, and was
    started again three times since the wait began, ends it at once. `progress` is called after
    every change with what is still missing, or that the cluster does not answer; the wait
    ends early when `stop` returns.

    Raises:
        VolaryError: when the cluster refuses to be watched, or cannot be reached.
    """
    waited = await _waited(client, manifests, rules)
    if not waited:
        return WaitResult(End.READY, "nothing to wait for")
    items = [placed.item for placed in waited]
    telling = (placed.key for placed in waited if "status" in placed.resource.subresources)
    seen = readiness.Observed(telling=frozenset(telling))
    judge = _ReadinessCheck(items, seen, rules, image_grace, progress, client)
    ended = await collection_watch.watch_until(
        client, await _sources(client, waited, seen), judge.decide, timeout=timeout, stop=stop
    )
    last = readiness.assess(items, seen, rules)
    result = _result(ended, judge, last, timeout)
    return replace(result, observed=seen.objects)


def _result(
    ended: collection_watch.End,
    judge: "_ReadinessCheck",
    last: readiness.Readiness,
    timeout: timedelta,
) -> WaitResult:
    match ended:
        case collection_watch.End.TIMED_OUT:
            said = f"not ready after {int(timeout.total_seconds())} s: {last.sentence}"
            return WaitResult(End.TIMED_OUT, said, last.ready, last.total)
        case collection_watch.End.STOPPED:
            said = last.sentence if judge.has_looked else "nothing was seen yet"
            return WaitResult(End.STOPPED, said, last.ready, last.total)
        case collection_watch.End.DECIDED:
            end = End.READY if last.is_complete else End.FAILED
            said = judge.verdict or last.sentence
            return WaitResult(end, said, last.ready, last.total, last.unassessed)


async def stay_ready(
    client: clients.Client,
    manifests: Sequence[manifest.Manifest],
    *,
    duration: timedelta,
    rules: Sequence[object_health.Rule] = (),
    stop: Callable[[], Awaitable[None]] = never,
) -> WaitResult:
    """Watch objects that are ready stay so for `duration`; end at once when one is not.

    Ends as READY when the time is over, as FAILED with what was seen when not.

    Raises:
        VolaryError: when the cluster refuses to be watched, or cannot be reached.
    """
    waited = await _waited(client, manifests, rules)
    items = [placed.item for placed in waited]
    seen = readiness.Observed()

    # What was written is not observed yet, and would look broken: what is there is listed.
    sources = [*_object_sources(waited, seen.objects), *await _pod_sources(client, waited, seen)]

    def is_broken() -> bool:
        return not readiness.assess(items, seen, rules).is_complete

    ended = await collection_watch.watch_until(
        client, sources, is_broken, timeout=duration, stop=stop
    )
    last = readiness.assess(items, seen, rules)
    ends = {
        collection_watch.End.TIMED_OUT: End.READY,
        collection_watch.End.STOPPED: End.STOPPED,
        collection_watch.End.DECIDED: End.FAILED,
    }
    return WaitResult(ends[ended], last.sentence, last.ready, last.total)


async def wait_deleted(
    client: clients.Client,
    gone: Sequence[tuple[resource_mapping.MappedManifest, str]],
    *,
    timeout: timedelta,
    progress: Callable[[str], None] = lambda _: None,
) -> WaitResult:
    """Wait until objects are gone, given with the uid each had.

    A later object of the same name does not count. `progress` is told what is still there, and
    which finalizers hold it.
    """
    left: dict[manifest.ResourceKey, json.JsonObject] = {}
    uids = {placed.key: uid for placed, uid in gone}
    sources = _object_sources([placed for placed, _ in gone], left)

    def remaining() -> list[manifest.ResourceKey]:
        return [key for key, body in left.items() if objects.uid(body) == uids[key]]

    def said() -> str:
        return readiness.listed(_why_remaining(key, left[key]) for key in remaining())

    told = ""

    def is_over() -> bool:
        nonlocal told
        # What goes by itself is not worth a line.
        if any(map(_holders, map(left.__getitem__, remaining()))) and said() != told:
            told = said()
            progress(f"waiting until it is gone: {told}")
        return not remaining()

    ended = await collection_watch.watch_until(
        client, sources, is_over, timeout=timeout, stop=never
    )
    if ended is collection_watch.End.DECIDED:
        return WaitResult(End.READY, f"{len(gone)} objects are gone")
    seconds = int(timeout.total_seconds())
    sentence = f"still there after {seconds} s: {said()}"
    return WaitResult(End.TIMED_OUT, sentence, held=frozenset(remaining()))


def _why_remaining(key: manifest.ResourceKey, body: json.JsonObject) -> str:
    holders = _holders(body)
    return f"{key.title}, held by {', '.join(holders)}" if holders else key.title


def _holders(body: json.JsonObject) -> list[str]:
    """Return the finalizers that hold an object, but for those that Kubernetes takes off itself."""
    finalizers = map(str, objects.sequence(body, "metadata", "finalizers"))
    return [finalizer for finalizer in finalizers if finalizer not in _GOING]


class _ReadinessCheck:
    """Looks at what was seen after each change, and remembers since when it is stuck."""

    def __init__(
        self,
        items: Sequence[manifest.Manifest],
        seen: readiness.Observed,
        rules: Sequence[object_health.Rule],
        grace: timedelta,
        progress: Callable[[readiness.Readiness], None],
        client: clients.Client,
    ) -> None:
        self._items = items
        self._seen = seen
        self._rules = rules
        self._grace = grace.total_seconds()
        self._progress = progress
        self._client = client
        self._stuck_since: float | None = None
        self._silent_since: float | None = None
        self._reported: readiness.Readiness | None = None
        #: Why it can never be ready; empty while it can.
        self.verdict = ""

    def decide(self) -> bool:
        """Whether waiting is over."""
        for container, count in crash_loops.restarts(self._seen.pods.values()).items():
            self._seen.restarts.setdefault(container, count)
        state = readiness.assess(self._items, self._seen, self._rules)
        shown = self._with_trouble(state)
        if shown != self._reported:
            self._progress(shown)
            self._reported = shown
        now = asyncio.get_running_loop().time()
        if not state.stuck:
            self._stuck_since = None
        elif self._stuck_since is None:
            self._stuck_since = now
        if state.permanent_failure:
            self.verdict = state.permanent_failure
        elif self._stuck_since is not None and now - self._stuck_since >= self._grace:
            self.verdict = state.stuck
        if self.verdict:
            return True
        return state.is_complete and not self._may_say_more(state, now)

    def _with_trouble(self, state: readiness.Readiness) -> readiness.Readiness:
        """Return what is shown: of a cluster that is silent what was seen is not what is."""
        trouble = self._client.trouble
        if not trouble:
            return state
        said = f"the cluster does not answer ({trouble}); seen last: {state.sentence}"
        return replace(state, sentence=said)

    def _may_say_more(self, state: readiness.Readiness, now: float) -> bool:
        """Whether a controller that has said nothing yet still gets its moment."""
        if not state.silent:
            return False
        if self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since < _STATUS_GRACE.total_seconds()

    @property
    def has_looked(self) -> bool:
        """Whether the objects were seen at all; before that, none of them is missing."""
        return self._reported is not None


def is_waited(item: manifest.Manifest, rules: Sequence[object_health.Rule]) -> bool:
    """Whether an object is watched until it is ready, by its kind."""
    if health_rules.find(rules, item) is not None:
        return True
    if any(item.group == group and kind in ("", item.kind) for group, kind in _WAITED):
        return True
    return "." in item.group and not item.group.endswith(_READY_WHEN_CREATED)


async def _waited(
    client: clients.Client,
    manifests: Sequence[manifest.Manifest],
    rules: Sequence[object_health.Rule],
) -> list[resource_mapping.MappedManifest]:
    placement = await resource_mapping.map_manifests(client, manifests)
    return [placed for placed in placement.mapped if is_waited(placed.item, rules)]


async def _sources(
    client: clients.Client,
    waited: Sequence[resource_mapping.MappedManifest],
    seen: readiness.Observed,
) -> list[collection_watch.Source]:
    def written(placed: resource_mapping.MappedManifest) -> json.JsonObject | None:
        item = placed.item
        known = client.recent.written(placed.resource, item.name, item.namespace)
        # Its controller has not seen it yet, so nothing is decided by it as it was then.
        return known if known is not None and conditions.unobserved(known) else None

    return [
        *_object_sources(waited, seen.objects, written),
        *await _pod_sources(client, waited, seen),
    ]


def _object_sources(
    waited: Iterable[resource_mapping.MappedManifest],
    kept: dict[manifest.ResourceKey, json.JsonObject],
    written: Callable[[resource_mapping.MappedManifest], json.JsonObject | None] = lambda _: None,
) -> list[collection_watch.Source]:
    groups: dict[tuple[discovery.Resource, str], list[manifest.Manifest]] = defaultdict(list)
    answers: dict[manifest.ResourceKey, json.JsonObject | None] = {}
    for placed in waited:
        groups[(placed.resource, placed.item.namespace)].append(placed.item)
        answers[placed.key] = written(placed)
    return [
        # One object is asked for by name: as it is, it may not have the labels it is to get.
        collection_watch.Source(
            kind,
            namespace,
            label_selector=label_selectors.covering(item.labels for item in items)
            if items[1:]
            else "",
            field_selector="" if items[1:] else f"metadata.name={items[0].name}",
            keep=_keeper(kept, items),
            written=None if items[1:] else answers[items[0].key],
        )
        for (kind, namespace), items in groups.items()
    ]


def _keeper(
    kept: dict[manifest.ResourceKey, json.JsonObject], items: Sequence[manifest.Manifest]
) -> collection_watch.Handler:
    by_name = {item.name: item for item in items}

    def keep(name: str, body: json.JsonObject | None) -> None:
        item = by_name.get(name)
        if item is None:
            return
        if body is None:
            kept.pop(item.key, None)
        else:
            kept[item.key] = {"apiVersion": item.api_version, "kind": item.kind, **body}

    return keep


async def _pod_sources(
    client: clients.Client,
    waited: Sequence[resource_mapping.MappedManifest],
    seen: readiness.Observed,
) -> list[collection_watch.Source]:
    kind = (await client.discover()).find("", "Pod")
    groups: dict[str, list[dict[str, str]]] = defaultdict(list)
    for placed in waited:
        labels = readiness.pod_selector(placed.item.body)
        if labels:
            groups[placed.item.namespace].append(labels)
    if kind is None:
        return []
    return [
        collection_watch.Source(
            kind,
            namespace,
            label_selector=label_selectors.covering(sets),
            keep=collection_watch.store(seen.pods, functools.partial(_pod_key, namespace)),
            # Pods only explain: who may not see them waits all the same.
            optional=True,
        )
        for namespace, sets in groups.items()
    ]


def _pod_key(namespace: str, name: str) -> tuple[str, str]:
    return namespace, name
