"""Objects that the tests of this folder start from."""

from collections.abc import Callable

import pytest

from volary.manifests.loading import documents
from volary.model import applications, routing_options
from volary.model.objects import manifest

SIMPLE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {GREETING: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {value: swordfish}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  clusterIP: 10.0.0.7
  externalTrafficPolicy: Local
  selector: {app: web, pipecd.dev/variant: primary}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web, pipecd.dev/variant: primary}}
  template:
    metadata: {labels: {app: web, pipecd.dev/variant: primary}}
    spec:
      imagePullSecrets: [{name: password}, {name: elsewhere}]
      initContainers:
      - name: prepare
        image: example/prepare:v1
        envFrom: [{secretRef: {name: password}}]
      containers:
      - name: web
        image: example/web:v1
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: GREETING}}}
        - {name: B, valueFrom: {secretKeyRef: {name: not-ours, key: x}}}
      volumes:
      - {name: plain, configMap: {name: settings}}
      - {name: hidden, secret: {secretName: password}}
      - name: both
        projected:
          sources: [{configMap: {name: settings}}, {secret: {name: password}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
"""


@pytest.fixture
def simple() -> list[manifest.Manifest]:
    """A Deployment with all it needs."""
    return documents.parse(SIMPLE, file="web.yaml")


@pytest.fixture
def web() -> applications.Application:
    """The application of `simple`."""
    return applications.Application(
        name="web", service=routing_options.ObjectReference(kind="Service", name="web")
    )


@pytest.fixture
def one() -> Callable[[str], manifest.Manifest]:
    """Read a single object from text."""

    def read(text: str) -> manifest.Manifest:
        (item,) = documents.parse(text, file="one.yaml")
        return item

    return read
