"""What ``volary lint`` says of overrides that change nothing, as far as plain manifests tell."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from volary.cli.lint import replicas
from volary.config.application import application_files
from volary.config.crosscheck import lint
from volary.config.decoding import readings
from volary.config.text import yaml
from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.placement import overrides

_PATH: yaml.Path = ("spec", "placement", "overrides")


def findings(root: str, files: Mapping[str, str]) -> Iterator[errors.Problem]:
    """Yield overrides for manifests, or for containers, that the application does not have.

    Policies of Karmada's are passed over: they are often shared by many applications.

    Args:
        root: What `files` are relative to.
        files: The text of application files, and of what is beside them where that counts.
    """
    for path, loaded in lint.load_applications(files).items():
        described = loaded.application
        if described is None or described.dialect is applications.Dialect.KARMADA:
            continue
        if not described.differences.rules or described.input.multi_targets:
            continue
        manifests = replicas.plain_manifests(described, root, posixpath.dirname(path))
        if manifests:
            yield from _of(loaded, described.differences.rules, manifests)


def _of(
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
        yield "the override is for none of the manifests", readings.did_you_mean(wanted, known)
        return
    there = {name: None for item in chosen for name in _containers(item)}
    named = (
        override.container_name
        for override in rule.overrides
        if isinstance(override, overrides.ArgumentsOverride | overrides.EnvOverride)
    )
    for name in dict.fromkeys(named):
        if name and name not in there:
            message = f"no manifest that the override is for has a container {name}"
            yield message, readings.did_you_mean(name, there) if there else ""


def _containers(item: manifest.Manifest) -> Iterator[str]:
    template = workloads.template_path(item.body)
    if template is None and item.kind != "Pod":
        return
    for container in objects.sequence(item.body, *(template or ()), "spec", "containers"):
        yield str(container.get("name"))
