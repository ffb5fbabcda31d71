"""ClusterRoles that are put together from others, picked by their labels."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, selectors, times
from kube_sandbox.controllers.framework import actions, view


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the ClusterRole at `key` with the rules of all it is made of."""
    role = cluster.get("ClusterRole", "", key.name)
    if role is None or not role.get("aggregationRule"):
        return actions.NOTHING
    chosen = role["aggregationRule"].get("clusterRoleSelectors") or ()
    rules: list[json.JsonObject] = []
    for part in cluster.list("ClusterRole"):
        if objects.uid(part) == objects.uid(role):
            continue
        if any(selectors.matches(selector, objects.labels(part)) for selector in chosen):
            rules += [rule for rule in part.get("rules") or () if rule not in rules]
    if rules == (role.get("rules") or []):
        return actions.NOTHING
    return actions.Result((actions.Update({**role, "rules": rules}),))
