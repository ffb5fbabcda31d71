"""Can a variant take traffic? Its pods are ready, and the Services of the route lead to them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from volary.clusters.watching import endpoints, list_snapshot
from volary.manifests.services import service_targets
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.rollouts import service_rollouts
from volary.stages.runtime import execution
from volary.stages.traffic import live_routes, variant_pods

#: How long pods of a variant may take to be ready when traffic is about to come: they
#: were waited for before, so this only bridges a short absence.
READY_TIMEOUT = timedelta(seconds=60)


async def require_pods(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> None:
    """Make sure that a variant can take traffic.

    Raises:
        StageFailedError: when none of its pods is ready in time.
    """
    labels = await _labels(work, route_object, source, which)
    work.context.progress(f"waiting for a ready pod of {which.value}")
    ready = await endpoints.wait_ready_pods(
        work.context.client,
        route_object.item.namespace,
        labels,
        timeout=min(READY_TIMEOUT, work.remaining),
        stop=work.context.stop.wait,
        snapshot=snapshot,
    )
    work.check_stop()
    if not ready:
        title = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        raise execution.StageFailedError(
            f"no traffic is sent to {which.value}: none of its pods is ready ({title})"
        )


async def require_all(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    wanted: Iterable[variant.Variant],
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> None:
    """Make sure that every variant in `wanted` can receive traffic."""
    for which in wanted:
        await require_pods(work, route_object, source, which, snapshot)


async def has_pods(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> bool:
    """Whether a variant has a ready pod now."""
    labels = await _labels(work, route_object, source, which)
    return (
        await endpoints.count_ready_pods(work.context.client, route_object.item.namespace, labels)
        > 0
    )


async def require_services(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    body: json.JsonObject,
    wanted: Iterable[variant.Variant],
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> None:
    """Make sure that the Services which a route names lead to ready pods of their variants.

    Raises:
        StageFailedError: when one is missing, or has no such endpoint in time.
    """
    names = route_object.router.services(body)
    for which in wanted:
        if which not in names:
            continue
        work.context.progress(f"waiting for the endpoints of {names[which]}")
        missing = await endpoints.wait_serving(
            work.context.client,
            route_object.item.namespace,
            names[which],
            await _labels(work, route_object, source, which),
            timeout=min(READY_TIMEOUT, work.remaining),
            stop=work.context.stop.wait,
            snapshot=snapshot,
        )
        work.check_stop()
        if missing:
            raise execution.StageFailedError(f"no traffic is sent to {which.value}: {missing}")


async def _labels(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> dict[str, str]:
    """Return labels of the pods behind a variant: as written, or as its live Service says."""
    application = work.context.application
    if service_targets.is_target(application):
        live = await service_rollouts.live_selector(work, route_object.item.namespace, which)
        if live:
            return live
    return variant_pods.labels(source, application, which)
