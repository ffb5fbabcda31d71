"""The identity of a Kubernetes object."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ResourceKey:
    """Group, kind, namespace and name.

    The version is left out on purpose: the same object can be read and written
    under several versions of its group (PipeCD: resource key).
    """

    #: Empty for the core group.
    group: str
    kind: str
    #: Empty for cluster-scoped objects, and in manifests that leave it to the target.
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return PipeCD's form, ``apps:Deployment:shop:web``."""
        return f"{self.group}:{self.kind}:{self.namespace}:{self.name}"

    @property
    def title(self) -> str:
        """The form for people, ``Deployment shop/web``."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"
