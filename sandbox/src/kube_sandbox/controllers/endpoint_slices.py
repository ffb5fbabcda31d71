"""EndpointSlices of one owner: which are there, and the writes that make them right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions, view

SERVICE_LABEL = "kubernetes.io/service-name"
MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"


@dataclass(frozen=True, slots=True)
class Content:
    """What a slice shall hold."""

    ports: list[json.JsonObject]
    endpoints: list[json.JsonObject]
    address_type: str = "IPv4"


def writes(
    cluster: view.View,
    owner: json.JsonObject,
    labels: Mapping[str, str],
    wanted: Sequence[Content],
    annotations: Mapping[str, str] | None = None,
) -> list[actions.Write]:
    """Return what makes the slices of an owner those that are wanted.

    Args:
        cluster: What is there.
        owner: The Service or Endpoints the slices are of.
        labels: Labels of the slices; they name the controller, which leaves others' alone.
        wanted: One entry for each slice.
        annotations: Annotations of new slices.
    """
    spare = [
        each
        for each in cluster.owned(objects.uid(owner), "EndpointSlice")
        if objects.labels(each).get(MANAGER_LABEL) == labels[MANAGER_LABEL]
        and not objects.is_deleting(each)
    ]
    found: list[actions.Write] = []
    for content in wanted:
        match = _match(spare, content)
        if match is None:
            found.append(actions.Create(_slice(owner, labels, content, annotations)))
            continue
        spare.remove(match)
        if (match.get("endpoints") or []) != content.endpoints or match["ports"] != content.ports:
            all_labels = {**objects.labels(match), **labels}
            updated = objects.changed(match, ("metadata", "labels"), all_labels)
            held = {"endpoints": content.endpoints, "ports": content.ports}
            found.append(actions.Update({**updated, **held}))
    return [*found, *(actions.Delete(each) for each in spare)]


def _match(spare: Sequence[json.JsonObject], content: Content) -> json.JsonObject | None:
    """Choose a slice with the same ports, else one that is empty."""
    fitting = [each for each in spare if each.get("addressType") == content.address_type]
    same = next((each for each in fitting if each.get("ports") == content.ports), None)
    return same or next((each for each in fitting if not each.get("endpoints")), None)


def _slice(
    owner: json.JsonObject,
    labels: Mapping[str, str],
    content: Content,
    annotations: Mapping[str, str] | None,
) -> json.JsonObject:
    metadata: json.JsonObject = {
        "generateName": f"{objects.name(owner)}-",
        "namespace": objects.namespace(owner),
        "labels": dict(labels),
        "ownerReferences": [objects.controller_reference(owner)],
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": content.address_type,
        "endpoints": content.endpoints,
        "ports": content.ports,
    }
