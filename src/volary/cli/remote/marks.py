"""What a person is told about a cluster's marks."""

from volary.model import json, taints


def reason(cluster: json.JsonObject) -> str:
    """Return why a cluster is as it is, and who keeps new work away from it and why.

    What a rule about the cluster's state marks says nothing more than that state.
    """
    marks = [_read(each) for each in cluster.get("taints", ())]
    said = taints.why([each for each in marks if each.by != taints.RULE])
    return "; ".join(each for each in (cluster.get("reason", ""), said) if each)


def _read(mark: json.JsonObject) -> taints.Taint:
    return taints.Taint(
        mark["key"],
        mark.get("value", ""),
        taints.Effect(mark["effect"]),
        by=mark.get("by", ""),
        reason=mark.get("reason", ""),
    )
