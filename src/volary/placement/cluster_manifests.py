"""What a cluster gets of an application: its share of the replicas, then its overrides.

Source of the rules: Karmada's overriders. Overrides come after the replicas, so one of
``/spec/replicas`` has the last word. Rules are applied in the order in which they are
written, and within a rule images first, then commands, arguments, labels, annotations, fields and
patches. Texts may hold ``${cluster.name}``, ``${cluster.region}``, ``${cluster.provider}`` and
``${cluster.labels.KEY}``.
"""

import json as text_json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never, cast

import yaml as plain_yaml

from volary.config.fleet import cluster_properties
from volary.config.text import yaml
from volary.manifests import objects
from volary.manifests.workloads import images, workloads
from volary.model import errors, json
from volary.model.fleet import fleets, selectors
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement import json_pointers
from volary.placement.replicas import assignment, shares

#: Kinds whose images are changed where no path is given (Karmada: imageOverrider).
_IMAGES = frozenset({"Pod", "ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"})
_ORDER: tuple[type[overrides.Override], ...] = (
    overrides.ImageOverride,
    overrides.ArgumentsOverride,
    overrides.EnvOverride,
    overrides.MetadataOverride,
    overrides.FieldOverride,
    overrides.PatchOverride,
)


def apply(
    manifests: Sequence[manifest.Manifest],
    wanted: overrides.Differences,
    cluster: fleets.Cluster,
    targets: Sequence[fleets.Cluster],
    assigned: assignment.Assignment | None = None,
) -> list[manifest.Manifest]:
    """Return the manifests as `cluster`, one of `targets`, gets them.

    Replicas are divided over `targets` as `assigned` says; where that is None, static weights
    decide here.

    Raises:
        UserError: A patch does not fit; with the manifest's place. Or free capacity has a say in
            the division, and nothing was decided.
    """
    if wanted == overrides.Differences():
        return list(manifests)
    changed_manifests = []
    divided = shares.apply(manifests, wanted.replicas, cluster, targets, assigned=assigned)
    for item in divided:
        changed = item
        for rule in wanted.rules:
            if selectors.matches(rule.targets, cluster) and _selects(rule.resources, changed):
                changed = _overridden(changed, rule.overrides, cluster)
        changed_manifests.append(changed)
    return changed_manifests


def _selects(resources: Sequence[overrides.ObjectSelector], item: manifest.Manifest) -> bool:
    return not resources or any(_matches(resource, item) for resource in resources)


def _matches(wanted: overrides.ObjectSelector, item: manifest.Manifest) -> bool:
    same = (
        wanted.api_version in ("", item.api_version)
        and wanted.kind in ("", item.kind)
        and wanted.name in ("", item.name)
        and wanted.namespace in ("", item.namespace)
    )
    return same and _labelled(wanted, item.labels)


def _labelled(wanted: overrides.ObjectSelector, labels: Mapping[str, str]) -> bool:
    return wanted.match_labels.items() <= labels.items() and all(
        selectors.is_met(expression, {labels[expression.key]} if expression.key in labels else None)
        for expression in wanted.match_expressions
    )


def _overridden(
    item: manifest.Manifest, changes: Sequence[overrides.Override], cluster: fleets.Cluster
) -> manifest.Manifest:
    ordered = [change for kind in _ORDER for change in changes if isinstance(change, kind)]
    body = item.body
    try:
        for override in ordered:
            body = _changed(replace(item, body=body), _filled_in(override, cluster))
    except errors.UserError as error:
        raise errors.user_error(
            f"the override for {cluster.name} does not fit {item.key.title}: "
            f"{error.problems[0].message}",
            hint=error.problems[0].hint,
            where=item.origin,
        ) from error
    return item.with_body(body)


def _filled_in(change: overrides.Override, cluster: fleets.Cluster) -> overrides.Override:
    if isinstance(change, overrides.FieldOverride):
        json_patches, yaml_patches = (
            tuple(replace(patch, value=_filled(patch.value, cluster)) for patch in patches)
            for patches in (change.json_, change.yaml)
        )
        return replace(change, json_=json_patches, yaml=yaml_patches)
    return replace(change, value=_filled(change.value, cluster))


def _filled(value: Any, cluster: fleets.Cluster) -> Any:
    match value:
        case str():
            return fill(value, cluster)
        case list() | tuple():
            return type(value)(_filled(element, cluster) for element in value)
        case Mapping():
            return {key: _filled(inner, cluster) for key, inner in value.items()}
        case _:
            return value


def fill(text: str, cluster: fleets.Cluster) -> str:
    """Return a text with what it says of the cluster filled in.

    Raises:
        UserError: The cluster has no such property.
    """
    if not cluster_properties.PATTERN.search(text):
        return text
    if wrong := cluster_properties.absent(text, cluster):
        raise errors.user_error(
            f"cluster {cluster.name} has no {wrong[0]}", hint=f"known: {cluster_properties.KNOWN}"
        )
    known = cluster_properties.of(cluster)
    return cluster_properties.PATTERN.sub(lambda match: known[match[1]], text)


def _changed(item: manifest.Manifest, change: overrides.Override) -> json.JsonObject:
    match change:
        case overrides.ImageOverride():
            return _images(item, change)
        case overrides.ArgumentsOverride():
            return _arguments(item, change)
        case overrides.EnvOverride():
            return _environment(item, change)
        case overrides.MetadataOverride():
            return _metadata(item, change)
        case overrides.FieldOverride():
            return _field(item, change)
        case overrides.PatchOverride():
            return cast("json.JsonObject", json_pointers.patch(item.body, change))
        case _:
            assert_never(change)


def _with_text(item: manifest.Manifest, path: str, text: str) -> json.JsonObject:
    change = overrides.PatchOverride(path, overrides.Operator.REPLACE, text)
    return cast("json.JsonObject", json_pointers.patch(item.body, change))


def _images(item: manifest.Manifest, change: overrides.ImageOverride) -> json.JsonObject:
    if change.path:
        written = json_pointers.read(item.body, change.path)
        if not isinstance(written, str):
            raise errors.user_error(f"{change.path} is no image")
        return _with_text(item, change.path, image(written, change))
    if item.kind not in _IMAGES:
        return item.body

    def one(container: json.JsonObject) -> json.JsonObject:
        written = objects.text(container, "image")
        return {**container, "image": image(written, change)} if written else container

    return _containers(item, one)


def image(written: str, change: overrides.ImageOverride) -> str:
    """Return an image's reference with one of its components changed.

    ``add`` appends to the component, ``remove`` clears it, ``replace`` sets it. A tag that is
    set takes the place of a digest, and a digest that of a tag (Karmada: imageOverrider).
    """
    parsed = images.parse(written)
    match change.component:
        case overrides.Component.REGISTRY:
            parsed = replace(parsed, registry=_combined(parsed.registry, change))
        case overrides.Component.REPOSITORY:
            parsed = replace(parsed, repository=_combined(parsed.repository, change))
        case overrides.Component.TAG:
            version = _combined(parsed.digest or parsed.tag, change)
            is_digest = ":" in version
            parsed = replace(
                parsed,
                tag="" if is_digest else version,
                digest=version if is_digest else "",
            )
    host = f"{parsed.registry}/" if parsed.registry else ""
    tag = f":{parsed.tag}" if parsed.tag else ""
    digest = f"@{parsed.digest}" if parsed.digest else ""
    return f"{host}{parsed.repository}{tag}{digest}"


def _combined(old: str, change: overrides.ImageOverride) -> str:
    match change.operator:
        case overrides.Operator.ADD:
            return f"{old}{change.value}"
        case overrides.Operator.REMOVE:
            return ""
        case overrides.Operator.REPLACE:
            return change.value


def _containers(
    item: manifest.Manifest, change: Callable[[json.JsonObject], json.JsonObject]
) -> json.JsonObject:
    """Return the body with `change` made to each of its containers; init containers stay."""
    template = workloads.template_path(item.body)
    if template is None:
        return item.body
    path = (*template, "spec", "containers")
    containers = objects.sequence(item.body, *path)
    body = objects.duplicate(item.body)
    parent = objects.branch(body, *path[:-1])
    parent["containers"] = [change(container) for container in containers]
    return body


def _arguments(item: manifest.Manifest, change: overrides.ArgumentsOverride) -> json.JsonObject:
    def one(container: json.JsonObject) -> json.JsonObject:
        if container.get("name") != change.container_name:
            return container
        old = objects.sequence(container, change.which.value)
        new = (
            [*old, *change.value]
            if change.operator is overrides.Operator.ADD
            else [argument for argument in old if argument not in change.value]
        )
        return {**container, change.which.value: new}

    return _containers(item, one)


def _environment(item: manifest.Manifest, change: overrides.EnvOverride) -> json.JsonObject:
    def one(container: json.JsonObject) -> json.JsonObject:
        if change.container_name not in ("", container.get("name")):
            return container
        old = list(objects.mappings(container, "env"))
        known = [str(variable.get("name")) for variable in old]
        values = _chosen(change.value, known, change.operator)
        new = [variable for variable in old if variable.get("name") not in values]
        if change.operator is not overrides.Operator.REMOVE:
            new += [{"name": name, "value": value} for name, value in values.items()]
        return {**container, "env": new} if new or "env" in container else container

    return _containers(item, one)


def _metadata(item: manifest.Manifest, change: overrides.MetadataOverride) -> json.JsonObject:
    old = objects.mapping(item.metadata, change.which.value)
    if change.operator is overrides.Operator.REMOVE:
        new = {key: value for key, value in old.items() if key not in change.value}
    else:
        new = {**old, **_chosen(change.value, old, change.operator)}
    return item.with_metadata({change.which.value: new}).body


def _chosen(
    values: Mapping[str, str], present: Collection[str], operator: overrides.Operator
) -> Mapping[str, str]:
    """Return the values that count: only what is there can be replaced."""
    if operator is not overrides.Operator.REPLACE:
        return values
    return {name: value for name, value in values.items() if name in present}


def _field(item: manifest.Manifest, change: overrides.FieldOverride) -> json.JsonObject:
    written = json_pointers.read(item.body, change.field_path)
    if not isinstance(written, str):
        raise errors.user_error(f"{change.field_path} is no text that could hold a document")
    document = _parsed(written, change)
    for patch in change.patches:
        document = json_pointers.patch(document, patch)
    if change.json_:
        text = text_json.dumps(document, ensure_ascii=False)
    else:
        text = plain_yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return _with_text(item, change.field_path, text)


def _parsed(written: str, change: overrides.FieldOverride) -> object:
    if change.json_:
        try:
            return text_json.loads(written)
        except (ValueError, RecursionError) as error:
            raise errors.user_error(f"{change.field_path} holds no JSON: {error}") from error
    documents = yaml.load_all(written, change.field_path)
    if len(documents) != 1:
        raise errors.user_error(f"{change.field_path} holds {len(documents)} documents, not one")
    return documents[0].value
