"""The variant label in selectors of workloads that are there already: as they have it.

Selectors cannot be changed. A workload that was made without the variant label keeps its
selector, and the label stays on its pods alone, which is all that Services and routes look at;
one that was made with it keeps it too.
"""

from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import variant

_SELECTOR = ("spec", "selector", "matchLabels")
_POD_LABELS = ("spec", "template", "metadata", "labels")


def keep(
    item: manifest.Manifest, live: json.JsonObject | None, label: variant.VariantLabel
) -> manifest.Manifest:
    """Return the workload with the variant label in its selector as the live one has it.

    One whose selector differs in anything else is returned as it is: the cluster refuses it.
    """
    if live is None or item.group != workloads.GROUP:
        return item
    wanted, existing = objects.mapping(item.body, *_SELECTOR), objects.mapping(live, *_SELECTOR)
    written, lasting = wanted.get(label.key), existing.get(label.key)
    if written == lasting or _others(wanted, label) != _others(existing, label):
        return item
    body = objects.duplicate(item.body)
    if lasting is None:
        del objects.branch(body, *_SELECTOR)[label.key]
        return item.with_body(body)
    pods = objects.branch(body, *_POD_LABELS)
    if written is not None or pods.setdefault(label.key, lasting) != lasting:
        return item
    objects.branch(body, *_SELECTOR)[label.key] = lasting
    return item.with_body(body)


def _others(selector: json.JsonObject, label: variant.VariantLabel) -> json.JsonObject:
    return {key: value for key, value in selector.items() if key != label.key}
