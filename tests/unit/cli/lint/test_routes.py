"""`volary lint` finds routes that a run would look for in vain."""

from pathlib import Path

import pytest

from volary.cli.lint import routes
from volary.config.crosscheck import lint
from volary.model import errors

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  service: {name: shop}
  trafficRouting: %s
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {createService: true}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 80, canary: 20}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
MANIFESTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop, pipecd.dev/variant: primary}}
  template: {metadata: {labels: {app: shop, pipecd.dev/variant: primary}}}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop%s}, ports: [{port: 80}]}
"""
PRIMARY = ", pipecd.dev/variant: primary"
HTTP = """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec: {rules: [{name: site, backendRefs: [{name: shop, port: 80}]}]}
"""
VIRTUAL = """\
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop}
spec: {hosts: [shop], http: [{name: site, route: [{destination: {host: shop}}]}]}
"""
GATEWAY = "{method: gatewayapi%s}"
ISTIO = "{method: istio%s}"


def found(base: Path, routing: str, route: str = "", place: str = "shop") -> list[errors.Problem]:
    (base / place).mkdir(exist_ok=True)
    (base / place / "app.yaml").write_text(
        MANIFESTS % ("" if "istio" in routing else PRIMARY) + route
    )
    file = f"{place}/volary.yaml" if place else "volary.yaml"
    return list(routes.findings(str(base), lint.load_applications({file: APPLICATION % routing})))


@pytest.mark.parametrize(
    ("routing", "title"),
    [
        (GATEWAY % "", "HTTPRoute"),
        (ISTIO % "", "VirtualService"),
        ("{method: smi}", "TrafficSplit"),
    ],
)
def test_a_missing_object_is_an_error_at_the_setting(
    tmp_path: Path, routing: str, title: str
) -> None:
    [told] = found(tmp_path, routing)

    assert title in told.message
    assert (told.where.file, told.where.line) == ("shop/volary.yaml", 6)
    assert told.severity is errors.Severity.ERROR
    assert told.hint


@pytest.mark.parametrize(
    ("routing", "route", "setting", "title"),
    [
        (GATEWAY, HTTP, "gatewayApi", "HTTPRoute"),
        (ISTIO, VIRTUAL, "istio", "VirtualService"),
    ],
)
@pytest.mark.parametrize("place", ["shop", ""])
def test_an_editable_route_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, routing: str, route: str, setting: str, title: str, place: str
) -> None:
    [told] = found(tmp_path, routing % f", {setting}: {{editableRoutes: [sote]}}", route, place)

    assert told.message == f"editableRoutes names sote, which {title} shop does not have"
    assert "site" in told.hint
    assert told.where.file == str(Path(place, "app.yaml"))
    assert told.where.line > 1


@pytest.mark.parametrize(
    ("routing", "route"),
    [
        (GATEWAY % ", gatewayApi: {editableRoutes: [site]}", HTTP),
        (ISTIO % ", istio: {editableRoutes: [site]}", VIRTUAL),
        (
            "{method: gatewayapi, create: true, gatewayApi: {gateways: [{name: web}]}}",
            "",
        ),
        ("{method: smi, create: true}", ""),
    ],
)
def test_what_a_run_can_do_is_fine(tmp_path: Path, routing: str, route: str) -> None:
    assert found(tmp_path, routing, route) == []


def test_a_made_service_that_no_pod_is_behind_is_an_error(tmp_path: Path) -> None:
    bare = MANIFESTS.replace(PRIMARY, "").replace("%s", "")
    (tmp_path / "volary.yaml").write_text("")
    (tmp_path / "app.yaml").write_text(bare)
    made = APPLICATION % "{method: gatewayapi, create: true}"

    [told] = routes.findings(str(tmp_path), lint.load_applications({"volary.yaml": made}))
    labelled = made + "  variantLabel: {onPods: true}\n"

    assert "Service shop-primary, by which the routes reach primary" in told.message
    assert (told.where.file, told.where.line) == ("volary.yaml", 6)
    assert (
        list(routes.findings(str(tmp_path), lint.load_applications({"volary.yaml": labelled})))
        == []
    )


def test_what_is_rendered_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/kustomization.yaml").write_text("resources: [app.yaml]\n")

    assert found(tmp_path, GATEWAY % "") == []
