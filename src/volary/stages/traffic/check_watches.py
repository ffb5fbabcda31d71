"""What every check of a stage reads besides canary's pods: followed together with other stages.

One watch in a namespace tells all stages there what each would ask for at every check. A stage that
is alone in its namespace asks: a watch is a connection, and saves it a request now and then.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from volary.clusters.api import discovery
from volary.clusters.client import resource_mapping
from volary.clusters.watching import endpoints, shared_watches
from volary.manifests.workloads import workloads
from volary.model.objects import manifest
from volary.stages.runtime import execution
from volary.stages.traffic.routers import registry

#: So many stages follow a collection before it is watched.
_LEAST = 2


@asynccontextmanager
async def followed(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> AsyncIterator[None]:
    """Follow the routes, the endpoints and the workloads while the body lasts."""
    client = work.context.client
    async with AsyncExitStack() as all_of_them:
        for resource, namespace in sorted(await _collections(work, source), key=str):
            await all_of_them.enter_async_context(
                shared_watches.follow(client, resource, namespace, least=_LEAST)
            )
        yield


async def _collections(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> set[tuple[discovery.Resource, str]]:
    """Return each kind that is read with its namespace, as far as the cluster serves it."""
    client, application = work.context.client, work.context.application
    route = registry.choose(application).find(source)
    originals = workloads.find(source, application.workloads)
    items = [route, *(item for item in originals if item.group == "apps")]
    placement = await resource_mapping.map_manifests(client, items, defining=items)
    read = {(mapped.resource, mapped.item.namespace) for mapped in placement.mapped}
    slices = (await client.discover()).find(*endpoints.SLICES)
    namespaces = {namespace for _, namespace in read}
    return read | {(slices, namespace) for namespace in namespaces if slices is not None}
