"""A Kubernetes object as somebody wants it, with the place where it was written."""

from dataclasses import dataclass, replace
from typing import cast

from volary.model import json, problem, resource


@dataclass(frozen=True, slots=True)
class Manifest:
    """One desired object.

    `body` is never mutated: a function that changes a manifest copies what it
    touches and returns a new one. So values may share structure.
    """

    body: json.JsonObject
    #: File and line of the document's start; rendered ones name the renderer.
    origin: problem.Location = problem.NOWHERE

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
        return cast("json.JsonObject", self.body.get("metadata") or {})

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
        return cast("dict[str, str]", self.metadata.get("labels") or {})

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations; read only."""
        return cast("dict[str, str]", self.metadata.get("annotations") or {})

    @property
    def key(self) -> resource.ResourceKey:
        """The object's identity, with the namespace as written."""
        return resource.ResourceKey(self.group, self.kind, self.namespace, self.name)

    def with_body(self, body: json.JsonObject) -> "Manifest":
        """Return a manifest from the same place with another body."""
        return replace(self, body=body)
