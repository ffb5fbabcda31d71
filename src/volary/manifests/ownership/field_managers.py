"""Who is behind the name of a field manager: pure.

What people's tools and replaced appliers own is Git's again when it is applied; what a controller
owns is left to it. A name that nobody knows is a controller's.
"""

from collections.abc import Iterator
from enum import Enum, auto

from volary.manifests import objects
from volary.model import json
from volary.model.objects import ownership

#: The field manager of manifests. Its name is load-bearing: a change of it makes every
#: live object look as if somebody else owned it.
MANAGER = "volary"
TRAFFIC_MANAGER = "volary-traffic"
SCALE_MANAGER = "volary-scale"
OURS = frozenset({MANAGER, TRAFFIC_MANAGER, SCALE_MANAGER})

APPLY = "Apply"
UPDATE = "Update"
#: What API servers call whoever wrote an object before anybody was noted.
BEFORE_FIRST_APPLY = "before-first-apply"

#: What applies manifests from files or Git, as Volary does.
_APPLIERS = frozenset(
    {
        "kubectl-client-side-apply",
        "kubectl-create",
        "kubectl-replace",
        BEFORE_FIRST_APPLY,
        "helm",
        "argocd-controller",
        "argocd-application-controller",
        "kustomize-controller",
        "helm-controller",
        "piped",
    }
)
#: Helm names its manager after the binary that it is built into, version and all.
_HELM_IN_TERRAFORM = "terraform-provider-helm"
#: Tools with a person in front of them. Lens writes under the name of its HTTP library, as other
#: programs for Node.js do that give themselves no name; pages in browsers (Headlamp, Rancher,
#: OpenShift's console) write under the browser's; Argo CD's page through its server, while its
#: controller syncs.
_TOOLS = frozenset(
    {
        "k9s",
        "node-fetch",
        "Lens",
        "Freelens",
        "dashboard",
        "dashboard-api",
        "headlamp",
        "Mozilla",
        "oc",
        "argocd-server",
    }
)
_KUBECTL = "kubectl"
#: Where a Secret's values are applied, and where they are.
_PLAIN, _DATA = "f:stringData", "f:data"


class Role(Enum):
    """What a field manager is to an application."""

    OURS = auto()
    #: Applied the whole object, and Volary takes its place.
    APPLIER = auto()
    #: A person changed something by hand.
    PERSON = auto()
    CONTROLLER = auto()


def role_of(name: str, operation: str) -> Role:
    """Return what a manager is, by its name and the operation of its entry."""
    if name in OURS:
        return Role.OURS
    if name in _APPLIERS or name.startswith(_HELM_IN_TERRAFORM):
        return Role.APPLIER
    if name == _KUBECTL or name.startswith(f"{_KUBECTL}-"):
        return Role.APPLIER if operation == APPLY else Role.PERSON
    return Role.PERSON if name in _TOOLS else Role.CONTROLLER


def entries(body: json.JsonObject) -> Iterator[json.JsonObject]:
    """Yield what an object says of each of its managers."""
    return objects.mappings(body, "metadata", "managedFields")


def stored_entries(body: json.JsonObject) -> list[json.JsonObject]:
    """Return what an object says of its managers, by the names that API servers keep fields under.

    Who applies a Secret's ``stringData`` owns the keys under that name, and nobody owns them in
    ``data``, where they are. A key that was dropped from ``stringData`` is nobody's at all and
    stays: it is counted to who applies the Secret so, unless a controller does.
    """
    listed = list(entries(body))
    plain = [entry for entry in listed if _PLAIN in objects.mapping(entry, "fieldsV1")]
    if not plain or body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return listed
    named: set[str] = set()
    for entry in listed:
        for part in (_DATA, _PLAIN):
            named |= set(objects.mapping(entry, "fieldsV1", part))
    nobodys = {f"f:{key}" for key in objects.mapping(body, "data")} - named
    roles = {role_of(str(entry.get("manager")), str(entry.get("operation"))) for entry in plain}
    if roles & {Role.CONTROLLER, Role.OURS}:
        nobodys = set()
    stored: list[json.JsonObject] = []
    for entry in listed:
        if entry not in plain:
            stored.append(entry)
            continue
        fields = dict(entry["fieldsV1"])
        keys = [*fields.pop(_PLAIN), *(sorted(nobodys) if entry is plain[0] else ())]
        data: json.JsonObject = {key: {} for key in keys if key != "."}
        stored.append({**entry, "fieldsV1": {**fields, _DATA: {**fields.get(_DATA, {}), **data}}})
    return stored


def is_applied_by(entry: json.JsonObject, manager: str) -> bool:
    """Whether an entry is of what `manager` applied, and not through a subresource."""
    return (
        entry.get("manager") == manager
        and entry.get("operation") == APPLY
        and not entry.get("subresource")
    )


def takes(conflicts: ownership.Conflicts, name: str, operation: str, path: str) -> bool:
    """Say whether a field of another manager is taken from it, by the application's rule."""
    role = role_of(name, operation)
    if role is Role.OURS:
        return True
    taken = conflicts.policy is ownership.ConflictPolicy.TAKE_BACK and role is not Role.CONTROLLER
    return taken is not conflicts.is_exception(name, path)
