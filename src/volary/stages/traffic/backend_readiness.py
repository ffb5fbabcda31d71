"""Can a variant take traffic? Its pods are ready, and the Services of the route lead to them."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.watching import endpoints, list_snapshot
from volary.manifests.services import selector_changes
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.rollouts import service_rollouts
from volary.stages.runtime import execution
from volary.stages.traffic import live_routes, variant_pods

#: How long pods of a variant may take to be ready when traffic is about to come: they
#: were waited for before, so this only bridges a short absence.
READY_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Backends:
    """What the routes of one object lead to."""

    work: execution.Work
    route_object: live_routes.RouteObject
    source: Sequence[manifest.Manifest]
    #: What is known of pods and endpoints at this moment.
    snapshot: list_snapshot.ListSnapshot | None = None

    async def require_pods(self, wanted: Iterable[variant.Variant]) -> None:
        """Make sure that every variant in `wanted` can take traffic.

        Raises:
            StageFailedError: when none of the pods of one is ready in time.
        """
        work = self.work
        for which in wanted:
            labels = await self._labels(which)
            said = f"waiting for a ready pod of {which.value}"
            ready = await endpoints.wait_ready_pods(
                work.context.client,
                self.route_object.item.namespace,
                labels,
                timeout=min(READY_TIMEOUT, work.remaining),
                stop=work.context.task.stop.wait,
                snapshot=self.snapshot,
                waiting=functools.partial(work.context.progress, said),
            )
            work.check_stop()
            if not ready:
                title = selector_changes.title(labels)
                raise execution.StageFailedError(
                    f"no traffic is sent to {which.value}: none of its pods is ready ({title})"
                )

    async def has_pods(self, which: variant.Variant) -> bool:
        """Whether a variant has a ready pod now."""
        labels = await self._labels(which)
        client, namespace = self.work.context.client, self.route_object.item.namespace
        return await endpoints.count_ready_pods(client, namespace, labels) > 0

    async def require_services(
        self, body: json.JsonObject, wanted: Iterable[variant.Variant]
    ) -> None:
        """Make sure that the Services named in `body` lead to ready pods of their variants.

        Raises:
            StageFailedError: when one is missing, or has no such endpoint in time.
        """
        work, names = self.work, self.route_object.router.services(body)
        for which in wanted:
            if which not in names:
                continue
            said = f"waiting for the endpoints of {names[which]}"
            missing = await endpoints.wait_serving(
                work.context.client,
                self.route_object.item.namespace,
                names[which],
                await self._labels(which),
                timeout=min(READY_TIMEOUT, work.remaining),
                stop=work.context.task.stop.wait,
                snapshot=self.snapshot,
                waiting=functools.partial(work.context.progress, said),
            )
            work.check_stop()
            if missing:
                raise execution.StageFailedError(f"no traffic is sent to {which.value}: {missing}")

    async def _labels(self, which: variant.Variant) -> dict[str, str]:
        """Return labels of the pods behind a variant: as written, or as its live Service says."""
        application = self.work.context.application
        if application.rolls_out_service:
            namespace = self.route_object.item.namespace
            live = await service_rollouts.live_selector(self.work, namespace, which)
            if live:
                return live
        return variant_pods.labels(self.source, application, which)
