"""All that the tasks of a run on one cluster need, as one document, and back. Pure.

It holds the manifests with the values of their Secrets, so it is only ever written sealed.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

import msgspec

from volary.clusters.client import actors
from volary.engine.persistence import codec
from volary.model import applications, errors, json
from volary.model.fleet import fleets
from volary.model.objects import manifest, object_health, ownership
from volary.model.pipeline import pipelines
from volary.stages.runtime import contexts
from volary.tenancy import membership

#: Of this form of the document; others are refused.
FORM = 1
#: Bytes of the document: a packed one says itself how long it is, and nobody unpacks more.
_MOST_BYTES = 256 * 2**20
#: What of an application is for planning and rendering, which are done by then.
NOT_NEEDED = frozenset(
    {
        *("differences", "encryption", "attachment", "mentions", "alerts", "triggers", "drift"),
        *("failover", "spread", "tolerations", "commit_matcher"),
    }
)
_TYPES = {
    name: hint
    for name, hint in get_type_hints(applications.Application).items()
    if name in {each.name for each in fields(applications.Application)} - NOT_NEEDED
}


@dataclass(frozen=True, slots=True)
class BundledSide:
    """What the run brings to the cluster, or takes it back to."""

    commit: str
    #: What it goes back to, and not what it brings; both may be of one commit.
    is_before: bool
    manifests: tuple[manifest.Manifest, ...] = ()
    #: Why there are none, one sentence; empty: they are there.
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What the tasks of one run on one cluster need."""

    run: str
    application: applications.Application
    #: As the fleet file describes it.
    cluster: fleets.Cluster
    #: Every stage that the run may have carried out there.
    stages: tuple[pipelines.Stage, ...]
    sides: tuple[BundledSide, ...] = ()
    #: Whose the application's objects are there; None: nobody has asked.
    owner: ownership.Owner | None = None
    #: Of all applications, after their own.
    health: tuple[object_health.Rule, ...] = ()
    options: contexts.Options = field(default_factory=contexts.Options)
    #: `contexts.RunEnvironment`, but for its files.
    commander: str = ""
    repository: str = ""
    summary: str = ""
    #: What the application's project permits.
    standing: membership.Standing = field(default_factory=membership.Standing)
    #: As whom the cluster takes what is done for it.
    identity: actors.Identity = field(default_factory=actors.Identity)

    @property
    def project(self) -> str:
        """The project's name; empty: the application belongs to none."""
        return self.standing.project.name if self.standing.project else ""

    def side(self, commit: str, *, is_before: bool) -> BundledSide:
        """Return what a commit is on this cluster.

        Raises:
            errors.UserError: It is not among what the controller sent, or could not be rendered.
        """
        for one in self.sides:
            if (one.commit, one.is_before) == (commit, is_before):
                if one.refusal:
                    raise errors.user_error(one.refusal)
                return one
        raise errors.user_error(
            f"the controller sent no manifests of commit {commit[:7]} for {self.cluster.name}"
        )


def write(bundle: Bundle) -> bytes:
    """Return a bundle as it is sealed."""
    objects: dict[str, int] = {}
    listed: list[json.JsonObject] = []

    def number(item: manifest.Manifest) -> int:
        origin = item.origin
        document = [item.body, [origin.file, origin.line, origin.path]]
        key = msgspec.json.encode(document).decode()
        if key not in objects:
            objects[key] = len(listed)
            listed.append({"body": item.body, "origin": document[1]})
        return objects[key]

    sides = [
        {
            "commit": side.commit,
            "isBefore": side.is_before,
            "objects": [number(item) for item in side.manifests],
            "refusal": side.refusal,
        }
        for side in bundle.sides
    ]
    document = {
        "form": FORM,
        "application": write_application(bundle.application),
        "objects": listed,
        "sides": sides,
        "stages": _plain(bundle.stages),
        **{name: _plain(getattr(bundle, name)) for name in _SIMPLE},
    }
    return zlib.compress(msgspec.json.encode(document), 6)


def read(packed: bytes) -> Bundle:
    """Read a bundle.

    Raises:
        errors.PermanentError: It is none, or of another version's form.
    """
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(packed, _MOST_BYTES)
        if not unpacking.eof:
            raise errors.PermanentError("the bundle is cut off, or too long")
        document = json.decode(text)
        if not isinstance(document, dict) or document.get("form") != FORM:
            raise errors.PermanentError(f"the bundle is of another version: its form is not {FORM}")
        return _read(document)
    except (zlib.error, *json.UNREADABLE, LookupError, TypeError, ValueError) as error:
        raise errors.PermanentError("the bundle cannot be read") from error


_SIMPLE = tuple(
    each.name for each in fields(Bundle) if each.name not in ("application", "stages", "sides")
)
_HINTS = get_type_hints(Bundle)


def _read(document: json.JsonObject) -> Bundle:
    objects = [
        manifest.Manifest(entry["body"], errors.Location(*entry["origin"]))
        for entry in document["objects"]
    ]
    sides = tuple(
        BundledSide(
            entry["commit"],
            entry["isBefore"],
            tuple(objects[index] for index in entry["objects"]),
            entry["refusal"],
        )
        for entry in document["sides"]
    )
    return Bundle(
        application=read_application(document["application"]),
        stages=read_stages(document["stages"]),
        sides=sides,
        **{name: json.convert(document[name], _HINTS[name]) for name in _SIMPLE},
    )


def write_application(application: applications.Application) -> json.JsonObject:
    """Return what stages need of an application as a document."""
    return {name: _plain(getattr(application, name)) for name in _TYPES}


def read_application(document: json.JsonObject) -> applications.Application:
    """Return an application from its document.

    Raises:
        LookupError: Something is missing.
        TypeError: It is none.
        ValueError: It is none.
    """
    known = {
        name: json.convert(document[name], hint)
        for name, hint in _TYPES.items()
        if name != "pipeline"
    }
    return applications.Application(**known, pipeline=read_stages(document["pipeline"]))


def read_stages(documents: Sequence[json.JsonObject]) -> tuple[pipelines.Stage, ...]:
    """Return stages from their documents."""
    return tuple(map(codec.read_pipeline_stage, documents))


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)
