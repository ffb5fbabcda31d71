"""What ``volary lint`` says of replicas: as far as plain manifests tell, without rendering."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

from volary.config import lint
from volary.controller import dividing
from volary.model import application as applications
from volary.model import errors, manifest, problem
from volary.sources import directory, kustomization, plain


def findings(root: str, files: Mapping[str, str]) -> Iterator[problem.Problem]:
    """Yield what becomes of autoscaled workloads of applications that are divided.

    Args:
        root: What `files` are relative to.
        files: The text of application files, and of what is beside them where that counts.
    """
    for path, loaded in lint.loaded(files).items():
        described = loaded.application
        if described is not None and dividing.divides(described):
            yield from _of(described, root, posixpath.dirname(path))


def _of(described: applications.Application, root: str, place: str) -> Iterator[problem.Problem]:
    manifests = plain_manifests(described, root, place)
    yield from dividing.left_alone(manifests, described.differences.replicas)
    try:
        dividing.check(manifests, described.differences.replicas)
    except errors.UserError as error:
        yield from error.problems


def plain_manifests(
    described: applications.Application, root: str, place: str
) -> list[manifest.Manifest]:
    """Return the plain manifests; none where they are rendered, or cannot be read."""
    files = directory.DirectoryTree(Path(root, place))
    given = described.input
    if given.helm_chart is not None or kustomization.find(files, ""):
        return []
    try:
        found = plain.read(files, "", given.manifests)
    except errors.UserError:
        return []
    prefix = f"{place}/" if place else ""
    return [manifest.Manifest(each.body, _below(prefix, each.origin)) for each in found]


def _below(prefix: str, where: problem.Location) -> problem.Location:
    return problem.Location(f"{prefix}{where.file}", where.line, where.path)
