"""What an application's project does not permit is found here, before any cluster is touched.

Clusters are only asked which kinds they serve, and whether namespaces are there that would be made.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from volary.clusters.client import client_pool, clients, object_places
from volary.concurrency import work_threads
from volary.config.crosscheck import fleet_checks
from volary.controller.planning import cluster_questions
from volary.engine.runs import run_builder
from volary.model import applications, errors, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.tenancy import application_rules, membership, restrictions

Manifests = Mapping[str, Sequence[manifest.Manifest]]


def require(known: membership.Projects, name: str) -> projects.Project | None:
    """Return the project of an application, by its name; None: there are no projects.

    Raises:
        errors.UserError: It is gone, or the application belongs to none.
        errors.TemporaryError: It is not known yet.
    """
    standing = known.standing(name)
    if standing.is_temporary:
        raise errors.TemporaryError(standing.reason)
    if standing.reason:
        raise errors.user_error(
            f"nothing may be deployed: {standing.reason}",
            hint="the platform team says which application files belong to which project",
        )
    return standing.project


def seen_fleet(project: projects.Project | None, members: fleets.Fleet) -> fleets.Fleet:
    """Return the fleet as a project sees it: without the clusters that it may not deploy to."""
    if project is None:
        return members
    permitted = application_rules.permitted_clusters(project, members.clusters)
    return (
        members if len(permitted) == len(members.clusters) else replace(members, clusters=permitted)
    )


def of_application(
    project: projects.Project | None, application: applications.Application, members: fleets.Fleet
) -> list[errors.Problem]:
    """Return what a project does not permit of an application file on a fleet."""
    if project is None:
        return []
    chosen = fleet_checks.deployment_targets(application, members)
    named = fleet_checks.named_targets(application)
    return [
        *application_rules.cluster_problems(project, chosen, named),
        *application_rules.stage_problems(project, application.pipeline),
    ]


def refuse_stages(project: projects.Project | None, stages: Iterable[pipelines.Stage]) -> None:
    """Refuse a plan with a stage that a project may not have.

    Raises:
        restrictions.NotPermittedError: There is one.
    """
    _raise(application_rules.stage_problems(project, stages) if project is not None else ())


def refuse_clusters(
    project: projects.Project | None, members: fleets.Fleet, names: Collection[str]
) -> None:
    """Refuse clusters of a fleet that Volary itself has chosen, where a project may not deploy.

    Raises:
        restrictions.NotPermittedError: There is one.
    """
    if project is not None:
        chosen = [cluster for cluster in members.clusters if cluster.name in names]
        _raise(application_rules.cluster_problems(project, chosen, ()))


def limited(spec: run_builder.RunSpec, project: projects.Project | None) -> run_builder.RunSpec:
    """Return what a run is made from, changing no more clusters at once than a project may.

    Clusters that prove themselves together are not changed by that.
    """
    most = project.limits.clusters if project is not None else 0
    if not most:
        return spec
    return replace(
        spec,
        groups=tuple(_limited_group(group, most) for group in spec.groups),
        waves=tuple(
            replace(wave, concurrency=_least(wave.concurrency, most)) for wave in spec.waves
        ),
        steps=tuple(
            replace(step, group=_limited_group(step.group, most))
            if step.stage.kind.changes_cluster
            else step
            for step in spec.steps
        ),
    )


def _limited_group(group: run_builder.Group, most: int) -> run_builder.Group:
    return replace(group, concurrency=_least(group.concurrency, most))


def _least(concurrency: int, most: int) -> int:
    """Return the smaller limit; 0 is none."""
    return min(concurrency, most) if concurrency else most


async def refuse_objects(
    project: projects.Project | None,
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Manifests,
) -> None:
    """Refuse manifests, by target, that a project may not have on their clusters.

    Of a cluster that does not answer only what is known without it is checked; each stage asks
    again.

    Raises:
        restrictions.NotPermittedError: With all that is not permitted on any of them.
    """
    if project is None:
        return

    members = {cluster.name: cluster for cluster in questions.clusters.fleet.clusters}

    async def look(client: clients.Client) -> list[errors.Problem]:
        return await of_manifests(
            client, project, members[client.name], application, manifests[client.name]
        )

    answers = await questions.ask_all(manifests, look)
    problems: dict[errors.Problem, None] = {}
    for target, answer in answers.items():
        found = (
            _without_asking(project, members[target], manifests[target])
            if isinstance(answer, client_pool.Unavailable)
            else answer
        )
        found += application_rules.size_problems(project, target, manifests[target])
        problems.update(dict.fromkeys(found))
    _raise(problems)


async def of_manifests(
    client: clients.Client,
    project: projects.Project,
    member: fleets.Cluster,
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
) -> list[errors.Problem]:
    """Return what a project does not permit of a set on a cluster, which is asked for its kinds."""
    places, served = await object_places.find(client, manifests)
    if application.input.auto_create_namespace:
        missing = await object_places.missing_namespaces(client, places)
        places += application_rules.created_namespaces(missing)
    return await work_threads.run_many(
        manifests,
        f"checking the manifests for {client.name}",
        lambda: [
            *application_rules.unknown_kind_problems(project, manifests, served),
            *application_rules.object_problems(project, member, places),
        ],
    )


def _without_asking(
    project: projects.Project,
    member: fleets.Cluster,
    manifests: Sequence[manifest.Manifest],
) -> list[errors.Problem]:
    """Return what a project does not permit of a set, whatever the cluster would say."""
    places = [
        place
        for place in application_rules.places(manifests, default="")
        # Which namespace is the usual one there is not known.
        if place.namespace or not place.kind.is_namespaced
    ]
    return application_rules.object_problems(project, member, places)


def _raise(problems: Iterable[errors.Problem]) -> None:
    found = tuple(problems)
    if found:
        raise restrictions.NotPermittedError(*found)
