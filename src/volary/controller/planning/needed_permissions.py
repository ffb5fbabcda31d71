"""What a run will have to be allowed besides writing, as far as its sets say so.

What is waited for is listed and watched. Copies of variants are listed to be deleted by their
clean-up, and where a stage prunes, the kinds of its set are. Objects that are adopted are kept in
Secrets until the run has ended, and the inventory names them. Where a metric is a Job, that is
created, watched and deleted, and the pods of one that failed are read.

That writing is allowed, dry runs find out. Of somebody who is impersonated it is asked for as well:
they rarely may do everything, and who gives them rights wants to see all that is missing at once.
"""

from collections.abc import Iterator, Sequence

from volary.clusters.api import discovery
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import pruning
from volary.clusters.observe import permissions
from volary.clusters.watching import waits
from volary.controller.planning import measuring_jobs
from volary.model import applications, errors
from volary.model.pipeline import variant
from volary.stages.runtime import stage_runners

#: With which kinds of the core group objects are kept as they were.
_KEEPING = (("Secret", ("list", "create", "patch", "delete")), ("ConfigMap", ("create", "patch")))
#: What an inventory is read and written with.
_INVENTORY = ("list", "create", "patch")
#: What an object is read and applied with.
_WRITING = ("get", "create", "patch")
#: What the Job of a metric is run with.
_JOBS = {("batch", "Job"): ("create", "list", "watch", "delete"), ("", "Pod"): ("list",)}
_COPIES = (variant.Variant.CANARY, variant.Variant.BASELINE)


async def check(
    client: clients.Client,
    rollouts: Sequence[stage_runners.Rollout],
    application: applications.Application,
    *,
    keeps_in: str = "",
    home: str = "",
) -> tuple[errors.Problem, ...]:
    """Return a problem for each permission that a cluster says is missing.

    `keeps_in` is the namespace where adopted objects are kept as they were; empty: none is. `home`
    is that of the inventory, where it is asked for besides.
    """
    wanted: list[permissions.Permission] = []
    if home:
        resource = await resource_mapping.require(client, "", "ConfigMap")
        wanted += [permissions.Permission(verb, resource, home) for verb in _INVENTORY]
    for kind, verbs in _KEEPING if keeps_in else ():
        resource = await resource_mapping.require(client, "", kind)
        wanted += [permissions.Permission(verb, resource, keeps_in) for verb in verbs]
    wanted += await _of_jobs(client, rollouts, application)
    for rollout in rollouts:
        mapped = await resource_mapping.map_manifests(client, rollout.manifests, refresh=False)
        for placed in mapped.mapped:
            writing = _WRITING if client.acts_as else ()
            for verb in (*writing, *_verbs(placed, rollout, application)):
                place = placed.item.namespace
                wanted.append(permissions.Permission(verb, placed.resource, place))
    return problems_of(client, await permissions.missing(client, wanted))


def problems_of(
    client: clients.Client, lacking: Sequence[permissions.Permission]
) -> tuple[errors.Problem, ...]:
    """Return the problems of missing permissions; of somebody impersonated with the rules."""
    if client.acts_as:
        return tuple(_rules_for(client, lacking))
    return tuple(
        errors.Problem(
            f"cluster {client.name}: {permission.sentence}",
            hint=f"give the user this permission by {_binding(permission)}",
        )
        for permission in lacking
    )


async def _of_jobs(
    client: clients.Client,
    rollouts: Sequence[stage_runners.Rollout],
    application: applications.Application,
) -> Sequence[permissions.Permission]:
    """Return what Jobs of metrics need, where there are some."""
    jobs = measuring_jobs.manifests_of(application, rollouts, namespace=client.namespace)
    return [
        permissions.Permission(
            verb, await resource_mapping.require(client, group, kind), jobs[0].namespace
        )
        for (group, kind), verbs in (_JOBS.items() if jobs else ())
        for verb in verbs
    ]


def _rules_for(
    client: clients.Client, lacking: Sequence[permissions.Permission]
) -> Iterator[errors.Problem]:
    """Yield a problem for each kind and place, with the rule to write."""
    verbs: dict[tuple[discovery.Resource, str], list[str]] = {}
    for permission in lacking:
        verbs.setdefault((permission.resource, permission.namespace), []).append(permission.verb)
    for (resource, namespace), missing in verbs.items():
        named = permissions.Permission(missing[0], resource, namespace)
        where = f" in namespace {namespace}" if namespace else ""
        yield errors.Problem(
            f"cluster {client.name}: {client.acts_as} may not {_listed(missing)} {named.objects}",
            hint=f"write {_binding(named)}{where} with the rule {{apiGroups:"
            f' ["{resource.group}"], resources: [{resource.plural}],'
            f" verbs: [{', '.join(missing)}]}}",
        )


def _listed(verbs: Sequence[str]) -> str:
    """Name all of them: there are seven at most."""
    return " and ".join(part for part in (", ".join(verbs[:-1]), verbs[-1]) if part)


def _binding(permission: permissions.Permission) -> str:
    if permission.namespace:
        return "a Role and a RoleBinding"
    return "a ClusterRole and its binding"


def _verbs(
    placed: resource_mapping.MappedManifest,
    rollout: stage_runners.Rollout,
    application: applications.Application,
) -> Iterator[str]:
    item, label = placed.item, application.variant_label
    is_copy = item.labels.get(label.key) in [label.value(which) for which in _COPIES]
    is_waited = waits.is_waited(item, application.health)
    if is_waited or is_copy:
        yield "list"
    if is_waited:
        yield "watch"
    if is_copy or (rollout.prune and not pruning.protection(item.body)):
        yield "delete"
