"""`volary lint` finds pods that end before those who send them requests know."""

from pathlib import Path

import pytest

from volary.cli.lint import pod_termination
from volary.config.crosscheck import lint
from volary.model import errors

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  service: {kind: Service, name: shop}
  trafficRouting: {%s}
"""
MANIFESTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: %s
      containers:
      - {name: proxy, image: "proxy:v1"}
      - {name: web, image: "shop:v1", lifecycle: %s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: "worker:v1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
"""
ROUTE = """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  rules:
  - {timeouts: {request: 20s}, backendRefs: [{name: shop, port: 80}]}
  - {timeouts: {request: soon}, backendRefs: [{name: shop, port: 80}]}
"""


def found(
    base: Path, hook: str, *, routing: str = "", grace: str = "30", more: str = ""
) -> list[str]:
    (base / "objects.yaml").write_text(MANIFESTS % (grace, hook) + more)
    loaded = lint.load_applications({"volary.yaml": APPLICATION % routing})
    problems = list(pod_termination.check(str(base), loaded))
    assert all(each.severity is errors.Severity.WARNING and each.hint for each in problems)
    assert {each.where.file for each in problems} <= {"objects.yaml"}
    return [each.message.removeprefix("Deployment shop: ") for each in problems]


def test_pods_that_end_at_once_are_named_with_how_late_their_routers_are(tmp_path: Path) -> None:
    [told] = found(tmp_path, "{}")
    [later] = found(tmp_path, "{}", routing="method: nginx")
    [own] = found(tmp_path, "{}", routing="drainDelay: 20s")

    assert told == (
        "its pods end at once, while requests are still sent to them: podselector routers follow"
        " up to 3 s later, and no container has a preStop hook"
    )
    assert "nginx routers follow up to 8 s later" in later
    assert "up to 20 s later" in own


@pytest.mark.parametrize(
    "hook",
    [
        "{preStop: {sleep: {seconds: 5}}}",
        "{preStop: {exec: {command: [sleep, '5']}}}",
        "{preStop: {exec: {command: [/bin/sh, -c, sleep 5 && nginx -s quit]}}}",
        "{preStop: {exec: {command: [/drain]}}}",
        "{preStop: {httpGet: {path: /drain, port: 8080}}}",
    ],
)
def test_who_waits_long_enough_or_by_a_way_of_its_own_is_let_be(tmp_path: Path, hook: str) -> None:
    assert found(tmp_path, hook) == []


def test_a_hook_that_sleeps_too_short_is_named(tmp_path: Path) -> None:
    hook = "{preStop: {sleep: {seconds: 2}}}"

    [told] = found(tmp_path, hook, routing="method: istio")

    assert told == "its preStop hook sleeps 2 s, and istio routers may follow up to 3 s later"
    assert found(tmp_path, hook, routing="method: istio, drainDelay: 2s") == []


@pytest.mark.parametrize(("grace", "ends_in_time"), [("11", True), ("10", False), ("null", True)])
def test_the_grace_period_has_room_for_the_hook(
    tmp_path: Path, grace: str, *, ends_in_time: bool
) -> None:
    told = found(tmp_path, "{preStop: {sleep: {seconds: 10}}}", grace=grace)

    assert (told == []) is ends_in_time
    assert told in ([], ["a grace period of 10 s leaves nothing after its preStop hook of 10 s"])


def test_the_grace_period_has_room_for_the_longest_request(tmp_path: Path) -> None:
    hook, routing = "{preStop: {sleep: {seconds: 10}}}", "method: gatewayapi"

    [told] = found(tmp_path, hook, routing=routing, more=ROUTE)

    assert told == (
        "a grace period of 30 s leaves nothing after its preStop hook of 10 s and requests of up"
        " to 20 s"
    )
    assert found(tmp_path, hook, routing=routing, more=ROUTE, grace="31") == []
