"""The Jobs that an application's metrics will have run in a cluster, as far as a plan knows them.

Pure.
"""

from collections.abc import Sequence

from volary.analysis.metering import query_names
from volary.config.crosscheck import metric_providers
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.stages.runtime import stage_runners


def manifests_of(
    application: applications.Application,
    rollouts: Sequence[stage_runners.Rollout],
    *,
    namespace: str,
) -> Sequence[manifest.Manifest]:
    """Return a Job for each metric that is one, with its kind, its place and who asks for it.

    `namespace` is the cluster's usual one, where manifests name none.
    """
    names = [rule.name for _, rule in metric_providers.all_rules(application) if rule.job]
    if not names:
        return ()
    written = next((rollout.manifests for rollout in rollouts), ())
    place = query_names.find(application, written, namespace=namespace).namespace
    return tuple(
        manifest.Manifest(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "namespace": place},
            },
            errors.Location(f"the metric {name}"),
        )
        for name in names
    )
