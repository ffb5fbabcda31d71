"""Can a variant take traffic? Its pods are ready, and the Services of the route lead to them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from volary.clusters import endpoints, glances
from volary.clusters import pods as cluster_pods
from volary.manifests import service_targets
from volary.model import json, manifest, variant
from volary.stages import carrying, switching
from volary.stages import work as works
from volary.stages.routing import interface, pods

#: How long pods of a variant may take to be ready when traffic is about to come: they
#: were waited for before, so this only bridges a short absence.
PATIENCE = timedelta(seconds=60)


async def require_pods(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
    glance: glances.Glance | None = None,
) -> None:
    """Make sure that a variant can take traffic.

    Raises:
        StageFailedError: when none of its pods is ready in time.
    """
    labels = await _labels(work, carrier, source, which)
    work.context.progress(f"waiting for a ready pod of {which.value}")
    ready = await cluster_pods.wait_ready(
        work.context.client,
        carrier.item.namespace,
        labels,
        timeout=min(PATIENCE, work.remaining),
        stop=work.context.stop.wait,
        glance=glance,
    )
    work.check_stop()
    if not ready:
        title = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        raise works.StageFailedError(
            f"no traffic is sent to {which.value}: none of its pods is ready ({title})"
        )


async def require_all(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    wanted: Iterable[variant.Variant],
    glance: glances.Glance | None = None,
) -> None:
    """Make sure that every variant in `wanted` can take traffic."""
    for which in wanted:
        await require_pods(work, carrier, source, which, glance)


async def has_pods(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> bool:
    """Whether a variant has a ready pod now."""
    labels = await _labels(work, carrier, source, which)
    return await cluster_pods.ready(work.context.client, carrier.item.namespace, labels) > 0


async def require_services(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    body: json.JsonObject,
    wanted: Iterable[variant.Variant],
    glance: glances.Glance | None = None,
) -> None:
    """Make sure that the Services which a route names lead to ready pods of their variants.

    Raises:
        StageFailedError: when one is missing, or has no such endpoint in time.
    """
    application = work.context.application
    names = interface.choose(application).services(body, application)
    for which in wanted:
        if which not in names:
            continue
        work.context.progress(f"waiting for the endpoints of {names[which]}")
        missing = await endpoints.wait_serving(
            work.context.client,
            carrier.item.namespace,
            names[which],
            await _labels(work, carrier, source, which),
            timeout=min(PATIENCE, work.remaining),
            stop=work.context.stop.wait,
            glance=glance,
        )
        work.check_stop()
        if missing:
            raise works.StageFailedError(f"no traffic is sent to {which.value}: {missing}")


async def _labels(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> dict[str, str]:
    """Return labels of the pods behind a variant: as written, or as its live Service says."""
    application = work.context.application
    if service_targets.is_target(application):
        live = await switching.live_selector(work, carrier.item.namespace, which)
        if live:
            return live
    return pods.labels(source, application, which)
