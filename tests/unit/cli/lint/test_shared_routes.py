"""Two applications that would take a route, or a cookie, from each other are told by lint."""

from pathlib import Path

import pytest

from volary.cli.lint import shared_routes
from volary.config.crosscheck import lint
from volary.config.fleet import fleet_files
from volary.model import errors
from volary.model.fleet import fleets

APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  targets: {{names: [{cluster}]}}
  service: {{name: {name}}}
  trafficRouting: {{method: gatewayapi, gatewayApi: {{route: {{name: {route}}}}}}}
  pipeline:
    stages:
    - {{name: K8S_CANARY_ROLLOUT, with: {{createService: true}}}}
    - name: K8S_TRAFFIC_ROUTING
      with:
        primary: 80
        canary: 20
        sessionAffinity: {{cookieName: {cookie}}}
    - {{name: K8S_PRIMARY_ROLLOUT, with: {{createService: true}}}}
    - {{name: K8S_CANARY_CLEAN}}
"""
MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec: {{selector: {{matchLabels: {{app: {name}}}}}, template: {{}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {route}{namespace}}}
spec:
  hostnames: [www.example.org]
  rules: [{{backendRefs: [{{name: {name}-primary, port: 80}}]}}]
"""
FLEET = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us}, {name: eu}]\n"


def write(
    base: Path,
    name: str,
    *,
    route: str = "front",
    cluster: str = "us",
    cookie: str = "",
    namespace: str = "shop",
) -> None:
    words = {"name": name, "route": route, "cluster": cluster, "cookie": cookie or name}
    place = f", namespace: {namespace}" if namespace else ""
    (base / name).mkdir()
    (base / name / "volary.yaml").write_text(APPLICATION.format(**words))
    (base / name / "manifests.yaml").write_text(MANIFESTS.format(**words, namespace=place))


def check(base: Path, members: fleets.Fleet | None) -> tuple[errors.Problem, ...]:
    texts = {str(file.relative_to(base)): file.read_text() for file in base.glob("*/*.yaml")}
    return shared_routes.check(str(base), lint.load_applications(texts), members)


def members() -> fleets.Fleet:
    return fleet_files.parse(FLEET, file="fleet.yaml").require()


def test_a_route_of_two_applications_is_named_with_both_files(tmp_path: Path) -> None:
    write(tmp_path, "cart")
    write(tmp_path, "shop")

    [found] = check(tmp_path, None)

    assert str(found.where) == "shop/volary.yaml"
    assert found.message == (
        "shop moves traffic by HTTPRoute front (shop/manifests.yaml), and so does cart"
        " (cart/volary.yaml): each would undo the other's weights"
    )
    assert found.severity is errors.Severity.ERROR


@pytest.mark.parametrize("other", [{"cluster": "eu"}, {"namespace": "cart"}, {"route": "cart"}])
def test_routes_that_do_not_meet_are_fine(tmp_path: Path, other: dict[str, str]) -> None:
    write(tmp_path, "cart", **other)
    write(tmp_path, "shop")

    assert check(tmp_path, members()) == ()


def test_without_a_namespace_it_takes_a_fleet_to_know(tmp_path: Path) -> None:
    """Two examples side by side are no fleet."""
    write(tmp_path, "cart", namespace="")
    write(tmp_path, "shop", namespace="")

    for text in tmp_path.glob("*/volary.yaml"):
        text.write_text(text.read_text().replace("  targets: {names: [us]}\n", ""))

    assert check(tmp_path, None) == ()
    assert len(check(tmp_path, members())) == 1


def test_a_cookie_that_two_applications_give_at_one_host_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "cart", route="cart", cookie="variant")
    write(tmp_path, "shop", route="shop", cookie="variant")

    [found] = check(tmp_path, None)

    assert found.severity is errors.Severity.WARNING
    assert found.message == (
        "the cookie variant of shop is also given by cart (cart/volary.yaml) at www.example.org:"
        " who uses both stays with neither"
    )


def test_what_cannot_be_read_is_told_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, "cart")
    write(tmp_path, "shop")
    (tmp_path / "shop" / "volary.yaml").write_text("a: [")
    (tmp_path / "cart" / "manifests.yaml").write_text("a: [")

    assert check(tmp_path, None) == ()
