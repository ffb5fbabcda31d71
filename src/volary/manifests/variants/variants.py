"""What each variant of an application consists of (PipeCD: sections 3.8 to 3.12), and how many
pods.
"""

from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.routes import generated_routes, ingresses
from volary.manifests.services import service_targets, services
from volary.manifests.variants import config_hash, patches
from volary.manifests.workloads import config_references, workloads
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant as variant_words
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind

DEFAULT_REPLICAS = 1
_SELECTOR = ("spec", "selector", "matchLabels")
_POD_LABELS = ("spec", "template", "metadata", "labels")


def calculate_replicas(wanted: rollout_stages.Replicas | None, total: int) -> int:
    """Return the number of pods for `wanted` of a workload with `total` pods.

    Percentages are rounded up; ``0`` and ``0%`` mean the default (PipeCD: Calculate).
    """
    return DEFAULT_REPLICAS if wanted is None or wanted.number == 0 else wanted.of(total)


Variant = variant_words.Variant


def primary(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    options: rollout_stages.PrimaryRolloutOptions | rollout_stages.SyncOptions,
) -> list[manifest.Manifest]:
    """Return everything that a sync or the primary's rollout applies.

    Raises:
        UserError: When a Service is to be made and there is none, or a name is taken.
    """
    label = app.variant_label
    result = list(manifests)
    if app.rolls_out_service:
        return config_hash.annotate(result, include_projected=_is_never_pipecds(app))
    if options.add_variant_label_to_selector or label.on_pods:
        to_selector = options.add_variant_label_to_selector
        put = label_workload if to_selector else label_pods
        # PipeCD forgets `workloads` in the primary's rollout.
        chosen = workloads.find(result, app.workloads)
        result = [
            put(item, label.key, label.primary_value) if item in chosen else item for item in result
        ]
    # Where routes are made, primary's Service is among the manifests already.
    is_there = generated_routes.generates_services(app)
    if (
        isinstance(options, rollout_stages.PrimaryRolloutOptions)
        and options.create_service
        and not is_there
    ):
        suffix = options.suffix or label.primary_value
        copies = _services(manifests, app, Variant.PRIMARY, suffix)
        check_free(copies, manifests)
        result += copies
    return config_hash.annotate(result, include_projected=_is_never_pipecds(app))


def _is_never_pipecds(app: applications.Application) -> bool:
    return app.dialect is not applications.Dialect.PIPECD


def canary(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
) -> list[manifest.Manifest]:
    """Return the canary: Services if asked for, ConfigMaps, Secrets, workloads.

    `manifests` are the target source's. Patches are applied to them before copying.

    Raises:
        UserError: When there is nothing to copy, a kind cannot be copied, a patch does
            not fit, or a name is taken or too long.
    """
    patched = patches.apply(manifests, options.patches)
    if app.rolls_out_service:
        return _target(patched, app)
    return _copies(patched, app, options, Variant.CANARY)


def baseline(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
) -> list[manifest.Manifest]:
    """Return the baseline, built like the canary without patches.

    `manifests` are the running source's, `app` is the target's (PipeCD: baseline).

    Raises:
        UserError: As `canary` does.
    """
    return _copies(manifests, app, options, Variant.BASELINE)


def check_free(copies: Sequence[manifest.Manifest], manifests: Sequence[manifest.Manifest]) -> None:
    """Check that no copy has the name of an object that the primary owns.

    Raises:
        UserError: With a problem for each that has.
    """
    owned = {item.key for item in manifests}
    problems = [
        errors.Problem(
            f"the variant's {item.key.title} would overwrite the primary's of that name",
            item.origin,
            hint="choose another suffix in the stage's options",
        )
        for item in copies
        if item.key in owned
    ]
    if problems:
        raise errors.UserError(*problems)


def _copies(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    variant: variant_words.Variant,
) -> list[manifest.Manifest]:
    title = variant.name
    suffix = options.suffix or app.variant_label.value(variant)
    chosen = workloads.find(manifests, app.workloads)
    if not chosen:
        raise errors.user_error(
            f"unable to find any workload manifests for {title} variant",
            hint="without `workloads` every Deployment is taken, else every StatefulSet",
        )
    _check_kinds(chosen, title)
    if options.of is stage_kind.Scope.FLEET:
        chosen = [item for item in chosen if _count(item, options)]
        if not chosen:
            return []
    asked = options.create_service or generated_routes.generates_services(app)
    made = _services(manifests, app, variant, suffix) if asked else []
    configs = [item for item in manifests if config_references.is_config(item)]
    copies = made + [_without_status(services.add_suffix(item, suffix)) for item in configs]
    for item in chosen:
        copy = _workload(item, app, options, variant)
        copies.append(_follow_service(_rename(copy, item, configs, suffix), made, suffix))
    copies += _ingresses(manifests, app, variant)
    check_free(copies, manifests)
    return copies


def _target(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> list[manifest.Manifest]:
    """Return the canary of a Service."""
    copies = service_targets.canary_service(manifests, app)
    copies += _ingresses(manifests, app, Variant.CANARY)
    check_free(copies, manifests)
    return copies


def _ingresses(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    variant: variant_words.Variant,
) -> list[manifest.Manifest]:
    """Return the canary Ingress, which gets no traffic yet, where the router is NGINX."""
    is_nginx = app.traffic_routing.method is routing_options.RoutingMethod.NGINX
    if not is_nginx or variant is not Variant.CANARY:
        return []
    ingress = ingresses.find(manifests, app)
    return [_without_status(ingresses.canary(ingress, app))] if ingress else []


def _check_kinds(chosen: Sequence[manifest.Manifest], title: str) -> None:
    problems = [
        errors.Problem(
            f"unsupported workload kind {item.kind} for {title} variant: {item.name}",
            item.origin,
            hint="only Deployments and StatefulSets of the group apps can have variants; "
            "name them in `workloads`",
        )
        for item in chosen
        if not workloads.has_replicas(item)
    ]
    if problems:
        raise errors.UserError(*problems)


def _services(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    variant: variant_words.Variant,
    suffix: str,
) -> list[manifest.Manifest]:
    matching_services = services.find(manifests, app.service)
    if not matching_services:
        named = f' for name="{app.service.name}"' if app.service.name else ""
        raise errors.user_error(
            f"unable to find any service{named} for {variant.name} variant",
            hint="createService copies the Service that service.name points at",
        )
    key, value = app.variant_label.key, app.variant_label.value(variant)
    copies = [
        services.variant(item, suffix=suffix, key=key, value=value) for item in matching_services
    ]
    if not generated_routes.generates_services(app):
        return copies
    return [generated_routes.with_route_name(item, app, variant) for item in copies]


def _workload(
    item: manifest.Manifest,
    app: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    variant: variant_words.Variant,
) -> manifest.Manifest:
    label = app.variant_label
    suffix = options.suffix or label.value(variant)
    copy = services.add_suffix(item, suffix)
    copy = label_workload(copy, label.key, label.value(variant))
    return _without_status(copy.with_spec({"replicas": _count(item, options)}))


def _count(item: manifest.Manifest, options: rollout_stages.VariantRolloutOptions) -> int:
    """Return how many pods the copy of a workload gets; of the fleet's share maybe none."""
    if options.of is stage_kind.Scope.CLUSTER:
        # A workload without `replicas` has one pod; PipeCD then ignores even an absolute wish.
        return calculate_replicas(options.replicas, workloads.replicas(item.body))
    if options.counts is None:
        raise errors.user_error(
            "who gets how many pods of the fleet's share is decided when a release is prepared",
            hint="volary plan shows it",
        )
    return options.counts.get(f"{item.kind} {item.name}", 0)


def _rename(
    copy: manifest.Manifest,
    original: manifest.Manifest,
    configs: Sequence[manifest.Manifest],
    suffix: str,
) -> manifest.Manifest:
    """Let the copy read the copied ConfigMaps and Secrets."""
    near = [item for item in configs if _may_read(original, item)]
    body = objects.duplicate(copy.body)
    config_references.rename(
        objects.branch(body, "spec", "template", "spec"),
        [item.name for item in near if item.kind == config_references.CONFIG_MAP],
        [item.name for item in near if item.kind == config_references.SECRET],
        suffix,
    )
    return copy.with_body(body)


def _may_read(workload: manifest.Manifest, config: manifest.Manifest) -> bool:
    """Say whether both are in one namespace; one that is not written may be the same."""
    return not workload.namespace or config.namespace in ("", workload.namespace)


def _follow_service(
    copy: manifest.Manifest, made: Sequence[manifest.Manifest], suffix: str
) -> manifest.Manifest:
    """Let a StatefulSet's pods get their names from the copied Service, if there is one."""
    name = objects.text(copy.body, "spec", "serviceName")
    if not name or f"{name}-{suffix}" not in [item.name for item in made]:
        return copy
    return copy.with_spec({"serviceName": f"{name}-{suffix}"})


def _without_status(item: manifest.Manifest) -> manifest.Manifest:
    return item.with_body({key: value for key, value in item.body.items() if key != "status"})


def label_workload(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the workload with the label in its selector and on its pods, nowhere else.

    Raises:
        UserError: When labels are there but are no object (PipeCD: Unable to check/set).
    """
    for path in (_SELECTOR, _POD_LABELS):
        written = objects.value(item.body, *path)
        if not isinstance(written, dict | None):
            raise errors.user_error(
                f'unable to set "{key}: {value}" in selector of workload {item.name}: '
                f"{'.'.join(path)} must be an object",
                where=item.origin,
            )
    body = objects.duplicate(item.body)
    objects.branch(body, *_SELECTOR)[key] = value
    objects.branch(body, *_POD_LABELS)[key] = value
    return item.with_body(body)


def label_pods(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the workload with the label on its pods alone."""
    body = objects.duplicate(item.body)
    objects.branch(body, *_POD_LABELS)[key] = value
    return item.with_body(body)
