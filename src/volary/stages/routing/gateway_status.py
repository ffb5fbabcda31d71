"""What gateways and meshes say about a route of the Gateway API: is it carried out?"""

from collections.abc import Iterator

from volary.manifests import objects
from volary.model import json

_GROUP = "gateway.networking.k8s.io"


def waiting(body: json.JsonObject) -> str:
    """Return why a route is not carried out yet; empty when each of its parents does.

    Of a parent's answers one has to accept the route and to resolve what it refers to.
    Answers about an older generation do not count; Linkerd leaves the generation out, and
    then the answer is taken as it is.
    """
    parents = list(objects.mappings(body, "spec", "parentRefs"))
    if not parents:
        return "it is attached to nothing: it has no parentRefs"
    for parent in parents:
        said = list(_answers(body, parent))
        if "" not in said:
            title = f"{objects.text(parent, 'kind') or 'Gateway'} {objects.text(parent, 'name')}"
            return f"{title}: {said[0] if said else 'no controller has answered yet'}"
    return ""


def _answers(body: json.JsonObject, parent: json.JsonObject) -> Iterator[str]:
    """Yield what each controller of a parent says: empty for yes, else why not."""
    home = objects.text(body, "metadata", "namespace")
    for each in objects.mappings(body, "status", "parents"):
        if _identity(objects.mapping(each, "parentRef"), home) == _identity(parent, home):
            yield _answer(each, objects.number(body, "metadata", "generation"))


def _answer(said: json.JsonObject, generation: int) -> str:
    by_type = {
        objects.text(each, "type"): each
        for each in objects.mappings(said, "conditions")
        if objects.number(each, "observedGeneration", default=generation) >= generation
        or not each.get("observedGeneration")
    }
    accepted, resolved = by_type.get("Accepted"), by_type.get("ResolvedRefs")
    if accepted is None:
        return "the last change is not answered yet"
    for name, each in (("not accepted", accepted), ("backends not resolved", resolved)):
        if each is not None and objects.text(each, "status") != "True":
            detail = objects.text(each, "message") or objects.text(each, "reason")
            return f"{name}: {detail}" if detail else name
    return ""


def _identity(parent: json.JsonObject, home: str) -> tuple[object, ...]:
    kind = objects.text(parent, "kind") or "Gateway"
    group = objects.text(parent, "group")
    if kind == "Service":
        group = "" if group == "core" else group
    return (
        group or ("" if kind == "Service" else _GROUP),
        kind,
        objects.text(parent, "namespace") or home,
        objects.text(parent, "name"),
        objects.text(parent, "sectionName"),
        objects.number(parent, "port"),
    )
