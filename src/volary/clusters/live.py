"""Reading the live counterparts of a set, in few requests."""

from collections import defaultdict
from collections.abc import Sequence

from volary.clusters import client as clients
from volary.clusters import errors as cluster_errors
from volary.clusters import gathering, placing, scaling, selectors
from volary.manifests import autoscalers, objects, workloads
from volary.model import errors, json, resource

Live = dict[resource.ResourceKey, json.JsonObject]

#: From here on one list by label is cheaper than a request for each object.
_LIST_FROM = 3
_AUTOSCALER = ("autoscaling", "HorizontalPodAutoscaler")


async def read(client: clients.Client, placed: Sequence[placing.Placed]) -> Live:
    """Return the live objects of `placed` by key.

    Many of one kind and namespace are listed by the labels they share, so an object
    that lost its labels is missing from the answer: absence here proves nothing.
    Kinds that may be written but not listed are asked for one by one.
    """
    groups: dict[tuple[str, str, str], list[placing.Placed]] = defaultdict(list)
    for each in placed:
        groups[(each.item.api_version, each.item.kind, each.item.namespace)].append(each)
    answers = await gathering.each(list(groups.values()), lambda group: _read_group(client, group))
    found: Live = {}
    for answer in answers:
        if isinstance(answer, errors.VolaryError):
            raise answer
        found.update(answer)
    return found


async def _read_group(client: clients.Client, group: list[placing.Placed]) -> Live:
    selector = selectors.covering(each.item.labels for each in group)
    if len(group) >= _LIST_FROM and selector:
        try:
            return await _list(client, group, selector)
        except cluster_errors.Forbidden:
            pass
    return await _get_each(client, group)


async def _list(client: clients.Client, group: list[placing.Placed], selector: str) -> Live:
    first = group[0]
    listed = await client.list(
        first.resource, namespace=first.item.namespace, label_selector=selector
    )
    by_name = {objects.text(body, "metadata", "name"): body for body in listed.items}
    return {each.item.key: by_name[each.item.name] for each in group if each.item.name in by_name}


async def _get_each(client: clients.Client, group: list[placing.Placed]) -> Live:
    answers = await gathering.each(group, lambda each: get(client, each))
    found: Live = {}
    for each, answer in zip(group, answers, strict=True):
        if isinstance(answer, cluster_errors.Forbidden):
            # It may still be allowed to write; what cannot be seen is not compared.
            continue
        if isinstance(answer, errors.VolaryError):
            raise answer
        if answer is not None:
            found[each.item.key] = answer
    return found


async def get(client: clients.Client, placed: placing.Placed) -> json.JsonObject | None:
    """Return the live counterpart of one manifest; None when there is none."""
    return await client.get(placed.resource, placed.item.name, namespace=placed.item.namespace)


async def leave_to_autoscalers(
    client: clients.Client, placed: Sequence[placing.Placed], live: Live, *, manager: str
) -> list[placing.Placed]:
    """Return `placed` without the replicas that an autoscaler decides, live or among `placed`.

    Costs a request per namespace with live workloads that name their replicas or did so
    until now, none on a first deployment.
    """
    scaled = [each for each in placed if _is_scaled_here(each, live, manager)]
    names = sorted({each.item.namespace for each in scaled})
    coming = [each.item for each in placed if each.item.kind in autoscalers.KINDS]
    targets = await _autoscaled(client, names) | {
        (each.item.namespace, each.item.kind, each.item.name)
        for each in scaled
        if autoscalers.of(each.item, coming)
    }

    def left(each: placing.Placed) -> placing.Placed:
        if (each.item.namespace, each.item.kind, each.item.name) not in targets:
            return each
        body = scaling.leave_replicas(each.item.body, live.get(each.item.key), manager=manager)
        return placing.Placed(each.item.with_body(body), each.resource)

    return [left(each) for each in placed] if targets else list(placed)


def _is_scaled_here(each: placing.Placed, live: Live, manager: str) -> bool:
    """Say whether applying a live workload decides how many pods it has."""
    known = live.get(each.item.key)
    if known is None or not workloads.has_replicas(each.item):
        return False
    named = "replicas" in each.item.body.get("spec", {})
    return named or scaling.owns_replicas(known, manager=manager)


async def _autoscaled(
    client: clients.Client, namespaces: Sequence[str]
) -> frozenset[tuple[str, str, str]]:
    if not namespaces:
        return frozenset()
    kind = (await client.discover()).find(*_AUTOSCALER)
    if kind is None:
        return frozenset()
    found: frozenset[tuple[str, str, str]] = frozenset()
    for namespace in namespaces:
        try:
            listed = await client.list(kind, namespace=namespace)
        except cluster_errors.Forbidden:
            # Then a conflict over replicas is reported, if there is one.
            continue
        found |= scaling.targets(listed.items)
    return found
