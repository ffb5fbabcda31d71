"""A desired Kubernetes object: its identity, and where it was written."""

from dataclasses import dataclass, replace

from volary.model import errors, json


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


@dataclass(frozen=True, slots=True)
class Manifest:
    """One desired object.

    `body` is never mutated: a function that changes a manifest copies what it
    touches and returns a new one. So values may share structure.
    """

    body: json.JsonObject
    #: File and line of the document's start; rendered ones name the renderer.
    origin: errors.Location = errors.NOWHERE

    @property
    def api_version(self) -> str:
        """``apps/v1``; empty when missing."""
        return str(self.body.get("apiVersion") or "")

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""

    @property
    def kind(self) -> str:
        """The kind; empty when missing."""
        return str(self.body.get("kind") or "")

    @property
    def metadata(self) -> json.JsonObject:
        """The metadata, an empty object when missing; read only."""
        found = self.body.get("metadata")
        # A live object is what some server says it is.
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """``metadata.name``; empty when missing."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """``metadata.namespace``; empty when missing."""
        return str(self.metadata.get("namespace") or "")

    @property
    def labels(self) -> dict[str, str]:
        """The object's labels; read only."""
        found = self.metadata.get("labels")
        return found if isinstance(found, dict) else {}

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations; read only."""
        found = self.metadata.get("annotations")
        return found if isinstance(found, dict) else {}

    @property
    def key(self) -> ResourceKey:
        """The object's identity, with the namespace as written."""
        return ResourceKey(self.group, self.kind, self.namespace, self.name)

    def with_body(self, body: json.JsonObject) -> "Manifest":
        """Return a manifest from the same place with another body."""
        return replace(self, body=body)

    def with_metadata(self, changes: json.JsonObject) -> "Manifest":
        """Return the manifest with other values in these fields of its metadata."""
        return self.with_body({**self.body, "metadata": {**self.metadata, **changes}})

    def with_spec(self, changes: json.JsonObject) -> "Manifest":
        """Return the manifest with other values in these fields of its specification."""
        spec = self.body.get("spec")
        known = spec if isinstance(spec, dict) else {}
        return self.with_body({**self.body, "spec": {**known, **changes}})
