"""Reading the live counterparts of a set, in few requests.

Replicas that a HorizontalPodAutoscaler owns are left to it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from volary.clusters.api import api_errors, label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.concurrency import fan_out
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.manifests.workloads import autoscalers, workloads
from volary.model import errors, json
from volary.model.objects import manifest


def autoscaled_workloads(autoscalers: Iterable[json.JsonObject]) -> frozenset[tuple[str, str, str]]:
    """Return (namespace, kind, name) of every workload that one of `autoscalers` scales."""
    scaled_workloads = set()
    for autoscaler in autoscalers:
        reference = autoscaler.get("spec", {}).get("scaleTargetRef", {})
        namespace = autoscaler["metadata"].get("namespace", "")
        scaled_workloads.add((namespace, reference.get("kind", ""), reference.get("name", "")))
    return frozenset(scaled_workloads)


def leave_replicas(
    body: json.JsonObject, live: json.JsonObject | None, *, manager: str
) -> json.JsonObject:
    """Return `body` so that applying it does not change how many pods `live` requests.

    A field that a manager stops naming goes back to its default when nobody else owns
    it, and the default of replicas is one pod. So while `manager` is still an owner the
    live number is repeated, also when Git has just stopped naming one; the autoscaler's
    first change takes the field over. A workload that is not live yet starts with the
    number in Git.
    """
    if live is None:
        return body
    spec = dict(body.get("spec", {}))
    if owns_replicas(live, manager=manager):
        spec["replicas"] = live["spec"]["replicas"]
    elif "replicas" in spec:
        del spec["replicas"]
    else:
        return body
    return {**body, "spec": spec}


def owns_replicas(live: json.JsonObject, *, manager: str) -> bool:
    """Say whether `live` would go back to one pod if `manager` stopped naming its replicas."""
    return any(
        field_managers.is_applied_by(entry, manager)
        and "f:replicas" in entry.get("fieldsV1", {}).get("f:spec", {})
        for entry in field_managers.entries(live)
    )


Live = dict[manifest.ResourceKey, json.JsonObject]
#: Whether an object as it was seconds ago is good enough.
IsEnough = Callable[[resource_mapping.MappedManifest, json.JsonObject], bool]

#: From here on one list by label is cheaper than a request for each object.
_LIST_FROM = 3
_AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")


async def read(
    client: clients.Client,
    mapped: Sequence[resource_mapping.MappedManifest],
    *,
    is_enough: IsEnough | None = None,
) -> Live:
    """Return the live objects of `placed` by key.

    Many of one kind and namespace are listed by the labels they share, so an object
    that lost its labels is missing from the answer: absence here proves nothing.
    Kinds that may be written but not listed are asked for one by one. Objects that a preview
    has read just now are not asked for again where that `is_enough`.
    """
    groups: dict[Hashable, list[resource_mapping.MappedManifest]] = defaultdict(list)
    live: Live = {}
    for placed in mapped:
        item = placed.item
        known = None
        if is_enough is not None:
            known = client.recent.take(placed.resource, item.name, item.namespace)
        if known is not None and is_enough is not None and is_enough(placed, known):
            live[placed.key] = known
            continue
        groups[item.api_version, item.kind, item.namespace].append(placed)
    answers = await fan_out.attempt_all(
        list(groups.values()), lambda group: _read_group(client, group)
    )
    for answer in answers:
        if isinstance(answer, errors.VolaryError):
            raise answer
        live.update(answer)
    return live


async def _read_group(client: clients.Client, group: list[resource_mapping.MappedManifest]) -> Live:
    listed = await _list_many(client, group)
    return await _get_each(client, group) if listed is None else listed


async def _list_many(
    client: clients.Client, group: list[resource_mapping.MappedManifest]
) -> Live | None:
    """Return what a list shows of a group; None: it is small, or may not be listed."""
    selector = label_selectors.covering(placed.item.labels for placed in group)
    if len(group) < _LIST_FROM or not selector:
        return None
    try:
        return await _list(client, group, selector)
    except api_errors.Forbidden:
        return None


async def _list(
    client: clients.Client, group: list[resource_mapping.MappedManifest], selector: str
) -> Live:
    first = group[0]
    listed = await client.list(
        first.resource, namespace=first.item.namespace, label_selector=selector
    )
    by_name = {objects.text(body, "metadata", "name"): body for body in listed.items}
    return {
        placed.key: by_name[placed.item.name] for placed in group if placed.item.name in by_name
    }


async def _get_each(client: clients.Client, group: list[resource_mapping.MappedManifest]) -> Live:
    answers = await fan_out.attempt_all(group, lambda placed: get(client, placed))
    live: Live = {}
    for placed, answer in zip(group, answers, strict=True):
        if isinstance(answer, api_errors.Forbidden):
            # It may still be allowed to write; what cannot be seen is not compared.
            continue
        if isinstance(answer, errors.VolaryError):
            raise answer
        if answer is not None:
            live[placed.key] = answer
    return live


async def get(
    client: clients.Client, mapped: resource_mapping.MappedManifest
) -> json.JsonObject | None:
    """Return the live counterpart of one manifest; None when there is none."""
    return await client.get(mapped.resource, mapped.item.name, namespace=mapped.item.namespace)


async def look(
    client: clients.Client, mapped: Sequence[resource_mapping.MappedManifest]
) -> dict[manifest.ResourceKey, json.JsonObject | None]:
    """Return the live objects, None for those that are certainly not there.

    Many of one kind and namespace are listed; what no list shows is asked for by name. What may
    not be read is missing.
    """
    groups: dict[Hashable, list[resource_mapping.MappedManifest]] = defaultdict(list)
    for placed in mapped:
        groups[placed.resource, placed.item.namespace].append(placed)
    live: dict[manifest.ResourceKey, json.JsonObject | None] = {}
    listed = await fan_out.attempt_all(
        list(groups.values()), lambda group: _list_many(client, group)
    )
    for shown in listed:
        if isinstance(shown, errors.VolaryError):
            raise shown
        live.update(shown or {})
    unseen = [placed for placed in mapped if placed.key not in live]
    asked = await fan_out.attempt_all(unseen, lambda placed: get(client, placed))
    for placed, answer in zip(unseen, asked, strict=True):
        if isinstance(answer, api_errors.Forbidden):
            continue
        if isinstance(answer, errors.VolaryError):
            raise answer
        live[placed.key] = answer
    return live


async def leave_to_autoscalers(
    client: clients.Client,
    mapped: Sequence[resource_mapping.MappedManifest],
    live: Live,
    *,
    manager: str,
) -> list[resource_mapping.MappedManifest]:
    """Return `placed` without the replicas that an autoscaler decides, live or among `placed`.

    Costs a request per namespace with live workloads whose replicas would change or change
    hands and that none of `placed` scales, none on a first deployment.
    """
    mapped = leave_to_given(mapped, live, manager=manager)
    scaled = [placed for placed in mapped if is_scaled_here(placed, live.get(placed.key), manager)]
    targets = await _autoscaled(client, sorted({placed.item.namespace for placed in scaled}))
    return _without_replicas(mapped, targets, live, manager)


def leave_to_given(
    mapped: Sequence[resource_mapping.MappedManifest], live: Live, *, manager: str
) -> list[resource_mapping.MappedManifest]:
    """Return `placed` without the replicas that an autoscaler among them decides."""
    given = [placed.item for placed in mapped if placed.item.kind in autoscalers.KINDS]
    targets = frozenset(
        _workload(placed.item)
        for placed in mapped
        if is_scaled_here(placed, live.get(placed.key), manager)
        and autoscalers.of(placed.item, given)
    )
    return _without_replicas(mapped, targets, live, manager)


def _without_replicas(
    mapped: Sequence[resource_mapping.MappedManifest],
    targets: Collection[tuple[str, str, str]],
    live: Live,
    manager: str,
) -> list[resource_mapping.MappedManifest]:
    def left(placed: resource_mapping.MappedManifest) -> resource_mapping.MappedManifest:
        if _workload(placed.item) not in targets:
            return placed
        body = leave_replicas(placed.item.body, live.get(placed.key), manager=manager)
        return replace(placed, item=placed.item.with_body(body))

    return [left(placed) for placed in mapped] if targets else list(mapped)


def _workload(item: manifest.Manifest) -> tuple[str, str, str]:
    return item.namespace, item.kind, item.name


def is_scaled_here(
    placed: resource_mapping.MappedManifest, known: json.JsonObject | None, manager: str
) -> bool:
    """Say whether applying a workload that is live as `known` decides how many pods it has."""
    if known is None or not workloads.has_replicas(placed.item):
        return False
    spec = placed.item.body.get("spec", {})
    if not owns_replicas(known, manager=manager):
        return "replicas" in spec
    # A number that is ours already and stays the same is applied alike, scaled or not.
    return bool(spec.get("replicas") != known.get("spec", {}).get("replicas"))


async def _autoscaled(
    client: clients.Client, namespaces: Sequence[str]
) -> frozenset[tuple[str, str, str]]:
    if not namespaces:
        return frozenset()
    kind = (await client.discover()).find(*_AUTOSCALER)
    if kind is None:
        return frozenset()
    scaled_workloads: frozenset[tuple[str, str, str]] = frozenset()
    for namespace in namespaces:
        try:
            listed = await client.list(kind, namespace=namespace)
        except api_errors.Forbidden:
            # Then a conflict over replicas is reported, if there is one.
            continue
        scaled_workloads |= autoscaled_workloads(listed.items)
    return scaled_workloads
