"""What ``volary lint`` says of replicas and overrides, as far as plain manifests show it.

Nothing is rendered: what kustomize or Helm would build is not known before it is built.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from volary.config.application import application_files
from volary.config.decoding import readings
from volary.config.text import yaml
from volary.controller.planning import replica_assignment
from volary.manifests import objects, redaction
from volary.manifests.workloads import workloads
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.sources.decryption import opening, sops_files
from volary.sources.rendering import kustomizations, placeholders, plain_files
from volary.sources.trees import directories

#: What was read of application files, by their path below the root.
LoadedFiles = Mapping[str, application_files.Loaded]
_PATH: yaml.Path = ("spec", "placement", "overrides")


def check_replicas(root: str, loaded: LoadedFiles) -> Iterator[errors.Problem]:
    """Yield what becomes of autoscaled workloads of applications that are divided."""
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is not None and replica_assignment.divides_replicas(described):
            yield from _divided(described, root, posixpath.dirname(path))


def _divided(
    described: applications.Application, root: str, place: str
) -> Iterator[errors.Problem]:
    manifests = plain_manifests(described, root, place)
    yield from replica_assignment.not_divided(manifests, described.differences.replicas)
    try:
        replica_assignment.check(manifests, described.differences.replicas)
    except errors.UserError as error:
        yield from error.problems


def plain_manifests(
    described: applications.Application, root: str, place: str
) -> list[manifest.Manifest]:
    """Return the plain manifests; none where they are rendered, or cannot be read."""
    try:
        return _read(described, root, place)
    except errors.UserError:
        return []


def _read(described: applications.Application, root: str, place: str) -> list[manifest.Manifest]:
    files = directories.DirectoryTree(Path(root, place))
    given = described.input
    if given.helm_chart is not None or kustomizations.find(files, ""):
        return []
    try:
        readable = opening.with_stand_ins(files, described, "")
        manifests = plain_files.read(readable, "", given.manifests, described.dialect)
    except errors.UserError as error:
        placed = (replace(item, where=_below(place, item.where)) for item in error.problems)
        raise errors.UserError(*placed) from error
    return [replace(written, origin=_below(place, written.origin)) for written in manifests]


def _below(place: str, where: errors.Location) -> errors.Location:
    return replace(where, file=posixpath.join(place, where.file))


def check_manifests(root: str, loaded: LoadedFiles) -> Iterator[errors.Problem]:
    """Yield why the manifests of PipeCD's applications cannot be deployed as they are written."""
    for path, loaded_file in loaded.items():
        described, place = loaded_file.application, posixpath.dirname(path)
        if described is None or described.dialect is not applications.Dialect.PIPECD:
            continue
        try:
            placeholders.refuse_in_objects(_read(described, root, place), described.dialect)
        except errors.UserError as error:
            yield from error.problems


def check_secrets(root: str, loaded: LoadedFiles) -> Iterator[errors.Problem]:
    """Yield what is wrong with encrypted values, as far as that shows without a key.

    Templates that cannot be carried out, and values that are too short to be masked where they
    appear.
    """
    for path, loaded_file in loaded.items():
        described, place = loaded_file.application, posixpath.dirname(path)
        if described is None:
            continue
        files = directories.DirectoryTree(Path(root, place))
        try:
            encrypted = opening.encrypted_files(files, "")
            opening.with_stand_ins(files, described, "")
        except errors.UserError as error:
            yield from (replace(item, where=_below(place, item.where)) for item in error.problems)
            continue
        for file in encrypted:
            for name in sops_files.short_values(file):
                yield errors.Problem(
                    f"{name} is encrypted and has fewer than {redaction.SHORTEST} characters:"
                    " it is not masked where a cluster or a program repeats it",
                    _below(place, errors.Location(file.path)),
                    "make it longer, or leave it in clear if it is no secret",
                    errors.Severity.WARNING,
                )


def check_overrides(root: str, loaded: LoadedFiles) -> Iterator[errors.Problem]:
    """Yield overrides for manifests, or for containers, that the application does not have.

    Policies of Karmada's are passed over: they are often shared by many applications.
    """
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is None or described.dialect is applications.Dialect.KARMADA:
            continue
        if not described.differences.rules or described.input.multi_targets:
            continue
        manifests = plain_manifests(described, root, posixpath.dirname(path))
        if manifests:
            yield from _idle_overrides(loaded_file, described.differences.rules, manifests)


def _idle_overrides(
    loaded: application_files.Loaded,
    rules: Sequence[overrides.Rule],
    manifests: Sequence[manifest.Manifest],
) -> Iterator[errors.Problem]:
    for place, rule in enumerate(rules):
        chosen = [item for item in manifests if _selects(rule.resources, item)]
        for text, hint in _idle(rule, chosen, manifests):
            where = loaded.document.where((*_PATH, place)) if loaded.document else errors.NOWHERE
            yield errors.Problem(text, where, hint, errors.Severity.WARNING)


def _selects(resources: Sequence[overrides.ObjectSelector], item: manifest.Manifest) -> bool:
    """Say whether an override may be for a manifest; labels and namespaces may be made later."""
    return not resources or any(
        resource.api_version in ("", item.api_version)
        and resource.kind in ("", item.kind)
        and resource.name in ("", item.name)
        for resource in resources
    )


def _idle(
    rule: overrides.Rule,
    chosen: Sequence[manifest.Manifest],
    manifests: Sequence[manifest.Manifest],
) -> Iterator[tuple[str, str]]:
    if not chosen:
        known = dict.fromkeys(item.key.title for item in manifests)
        wanted = " ".join(filter(None, (rule.resources[0].kind, rule.resources[0].name)))
        yield "the override matches none of the manifests", readings.did_you_mean(wanted, known)
        return
    there = {name: None for item in chosen for name in _containers(item)}
    named = (
        override.container_name
        for override in rule.overrides
        if isinstance(override, overrides.ArgumentsOverride | overrides.EnvOverride)
    )
    for name in dict.fromkeys(named):
        if name and name not in there:
            message = f"no manifest that the override matches has a container {name}"
            yield message, readings.did_you_mean(name, there) if there else ""


def _containers(item: manifest.Manifest) -> Iterator[str]:
    template = workloads.template_path(item.body)
    if template is None and item.kind != "Pod":
        return
    for container in objects.sequence(item.body, *(template or ()), "spec", "containers"):
        yield str(container.get("name"))
