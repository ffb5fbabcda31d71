"""Routes of Istio, where its definitions are installed: weights in a release, none after it."""

import json
import re

from cluster_access import Clusters

_ROUTED = """\
  trafficRouting: {method: istio, istio: {host: web}}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 70, canary: 30}}
    - {name: WAIT, with: {duration: 1h}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_TRAFFIC_ROUTING, with: {all: primary}}
    - {name: K8S_CANARY_CLEAN}
"""
_SUBSETS = [
    {"name": name, "labels": {"pipecd.dev/variant": name}} for name in ("primary", "canary")
]
_ROUTES = {
    "routes.yaml": json.dumps(
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "VirtualService",
            "metadata": {"name": "web"},
            "spec": {
                "hosts": ["web"],
                "http": [{"route": [{"destination": {"host": "web", "subset": "primary"}}]}],
            },
        }
    ),
    "subsets.yaml": json.dumps(
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "DestinationRule",
            "metadata": {"name": "web"},
            "spec": {"host": "web", "subsets": _SUBSETS},
        }
    ),
}


def _weights(body: dict[str, object]) -> dict[str, int]:
    spec = json.loads(json.dumps(body["spec"]))
    (rule,) = spec["http"]
    return {
        route["destination"]["subset"]: route.get("weight", 100)
        for route in rule["route"]
        if route.get("weight", 100)
    }


async def test_traffic_is_divided_and_given_back_by_a_sync_after_a_release_was_left(
    clusters: Clusters,
) -> None:
    await clusters.require_kind("virtualservices.networking.istio.io")
    kind = "virtualservices.networking.istio.io"
    shop = await clusters.application(await clusters.namespace(), text=_ROUTED)
    shop.edit("service.yaml", ", pipecd.dev/variant: primary", "")
    shop.write(_ROUTES, message="Routes")
    await shop.deployed()
    shop.edit("web.yaml", *clusters.images)
    contexts = ",".join(clusters.contexts)
    words = ("run", ".", "--contexts", contexts, "--strategy", "pipeline")
    async with shop.start(*words) as running:
        for context in clusters.contexts:
            await running.until(rf"{re.escape(context)} WAIT: waiting for 1h")
            body = await shop.find(context, kind, "web")
            assert _weights(body) == {"primary": 70, "canary": 30}

        running.interrupt()
        await running.ended()

    ended = await shop.run("--strategy", "quick")

    assert ended.code == 0, ended
    new = clusters.images[1]
    assert await shop.images() == dict.fromkeys(clusters.contexts, f"{new} 2/2")
    for context in clusters.contexts:
        assert _weights(await shop.find(context, kind, "web")) == {"primary": 100}
        assert await shop.find(context, "deployment", "web-canary") is None
