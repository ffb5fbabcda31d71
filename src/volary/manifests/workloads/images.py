"""Container images: their references taken apart, and found in manifests."""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model.objects import manifest

_DIGEST_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Image:
    """The parts of a reference such as ``localhost:5000/team/shop:v1@sha256:…``."""

    #: Host with port; empty when the reference names none.
    registry: str
    #: Path without the registry, ``team/shop``.
    repository: str
    #: Last part of the path, ``shop``.
    name: str
    #: Empty when the reference names none.
    tag: str = ""
    #: With its algorithm, ``sha256:…``; empty when the reference names none.
    digest: str = ""

    @property
    def version(self) -> str:
        """Return what people call the version: the tag, else the digest in short, else empty."""
        if self.tag or not self.digest:
            return self.tag
        algorithm, _, value = self.digest.partition(":")
        return f"{algorithm}:{value[:_DIGEST_LENGTH]}"

    def __str__(self) -> str:
        """Return ``shop:v1`` or ``shop``."""
        return f"{self.name}:{self.version}" if self.version else self.name


def parse(image: str) -> Image:
    """Take a reference apart.

    The first part of the path is a registry if it has a dot or a port or is
    ``localhost``, as container runtimes decide it. PipeCD splits at every colon and so
    loses ports and digests.
    """
    rest, _, digest = image.partition("@")
    head, slash, tail = rest.partition("/")
    is_registry = bool(slash) and ("." in head or ":" in head or head == "localhost")
    registry, path = (head, tail) if is_registry else ("", rest)
    # A colon behind the last slash starts the tag.
    folder, slash, last = path.rpartition("/")
    name, _, tag = last.partition(":")
    return Image(registry, f"{folder}{slash}{name}", name, tag, digest)


def find(item: manifest.Manifest) -> list[str]:
    """Return the references of init containers and containers, in order, repeated ones too."""
    spec = workloads.pod_spec(item.body)
    if spec is None:
        return []
    containers = workloads.containers(spec, ephemeral=False)
    return [image for container in containers if (image := objects.text(container, "image"))]


def find_all(manifests: Sequence[manifest.Manifest]) -> list[str]:
    """Return the distinct references of a set, in the order of their first use."""
    return list(dict.fromkeys(image for item in manifests for image in find(item)))
