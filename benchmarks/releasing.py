"""Applications to be released: a Deployment of one replica whose traffic Istio's routes divide."""

from collections.abc import Sequence

_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  timeout: 3h
{routing}  quickSync: {{addVariantLabelToSelector: true}}
{waves}  pipeline:
    stages:
{stages}"""
_ROUTING = """\
  service: {{name: {name}}}
  trafficRouting:
    method: istio
    istio: {{host: {name}, virtualService: {{name: {name}}}}}
"""
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
      - {{name: main, image: "example/{name}:{version}"}}
"""
_ROUTES = """\
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec:
  selector: {{app: {name}}}
  ports: [{{port: 80, targetPort: 8080}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {{name: {name}}}
spec:
  hosts: [{name}]
  http:
  - name: main
    route:
    - destination: {{host: {name}, subset: primary}}
      weight: 100
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {{name: {name}}}
spec:
  host: {name}
  subsets:
  - {{name: primary, labels: {{pipecd.dev/variant: primary}}}}
  - {{name: canary, labels: {{pipecd.dev/variant: canary}}}}
"""
_PROGRESSIVE = """\
    - {{name: K8S_CANARY_ROLLOUT, with: {{replicas: 1}}}}
    - name: K8S_PROGRESSIVE_TRAFFIC
      timeout: 3h
      with:
        interval: {interval}s
        threshold: 3
        stepWeights: [{weights}]
        metrics:
        - {{name: request-success-rate, interval: 1m, expected: {{min: 99}}}}
        - name: of-the-application
          query: 'sum(rate(orders_total{{application="{{{{ name }}}}"}}[1m]))'
          interval: 1m
          expected: {{min: 1}}
        - {{name: of-the-platform, query: sum(up), interval: 1m, expected: {{min: 1}}}}
    - {{name: K8S_PRIMARY_ROLLOUT, with: {{addVariantLabelToSelector: true}}}}
    - {{name: K8S_CANARY_CLEAN}}
"""
#: The whole canary pipeline, with nobody to wait for.
CANARY = """\
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 90, canary: 10}}
    - {name: K8S_PRIMARY_ROLLOUT, with: {addVariantLabelToSelector: true}}
    - {name: K8S_TRAFFIC_ROUTING, with: {all: primary}}
    - {name: K8S_CANARY_CLEAN}
"""


#: A new version of a Deployment, and its pods are waited for.
PLAIN = "    - {name: K8S_PRIMARY_ROLLOUT, with: {addVariantLabelToSelector: true}}\n"


def progressive(interval: int) -> str:
    """Return the stages of a release that stays in its steps for long."""
    return _PROGRESSIVE.format(interval=interval, weights=", ".join(map(str, range(1, 100))))


def files(
    names: Sequence[str], stages: str, version: str, *, waves: str = "", routed: bool = True
) -> dict[str, dict[str, str]]:
    """Return the files of applications at a version, by directory.

    `routed` with a Service and routes, else a Deployment alone.
    """
    found = {}
    for name in names:
        routing = _ROUTING.format(name=name) if routed else ""
        described = _APPLICATION.format(name=name, routing=routing, stages=stages, waves=waves)
        objects = (_DEPLOYMENT + _ROUTES if routed else _DEPLOYMENT).format(
            name=name, version=version
        )
        found[name] = {"volary.yaml": described, "objects.yaml": objects}
    return found
