"""The Gateway of the built-in proxy; `controllers.gateways` answers for it in routes."""

from kube_sandbox import json
from kube_sandbox.controllers import gateways

CLASS = "sandbox"


def gateway() -> tuple[json.JsonObject, ...]:
    """The GatewayClass ``sandbox``, and a Gateway ``default/web`` of it."""
    return (
        {
            "apiVersion": f"{gateways.GROUP}/v1",
            "kind": "GatewayClass",
            "metadata": {"name": CLASS},
            "spec": {"controllerName": gateways.CONTROLLER},
        },
        {
            "apiVersion": f"{gateways.GROUP}/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "gatewayClassName": CLASS,
                "listeners": [
                    {
                        "name": "web",
                        "port": 8080,
                        "protocol": "HTTP",
                        "allowedRoutes": {"namespaces": {"from": "All"}},
                    }
                ],
            },
        },
    )
