"""What ``volary lint`` says of replicas: as far as plain manifests tell, without rendering."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

from volary.config.crosscheck import lint
from volary.controller.planning import replica_assignment
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.sources.rendering import kustomizations, plain_files
from volary.sources.trees import directories


def findings(root: str, files: Mapping[str, str]) -> Iterator[errors.Problem]:
    """Yield what becomes of autoscaled workloads of applications that are divided.

    Args:
        root: What `files` are relative to.
        files: The text of application files, and of what is beside them where that counts.
    """
    for path, loaded in lint.load_applications(files).items():
        described = loaded.application
        if described is not None and replica_assignment.divides_replicas(described):
            yield from _of(described, root, posixpath.dirname(path))


def _of(described: applications.Application, root: str, place: str) -> Iterator[errors.Problem]:
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
    files = directories.DirectoryTree(Path(root, place))
    given = described.input
    if given.helm_chart is not None or kustomizations.find(files, ""):
        return []
    try:
        manifests = plain_files.read(files, "", given.manifests)
    except errors.UserError:
        return []
    prefix = f"{place}/" if place else ""
    return [
        manifest.Manifest(plain_manifest.body, _below(prefix, plain_manifest.origin))
        for plain_manifest in manifests
    ]


def _below(prefix: str, where: errors.Location) -> errors.Location:
    return errors.Location(f"{prefix}{where.file}", where.line, where.path)
