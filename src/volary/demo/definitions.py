"""Definitions of the scenarios: which example, what its second commit changes, who sends
requests, what goes wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import volary
from kube_sandbox import proxies
from volary.model import errors, statuses


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario: version 1 of an example is deployed, then version 2 released."""

    #: Folder below ``examples``.
    example: str
    #: Name of the application, of its Service and of its Deployment.
    service: str
    #: One sentence for the beginning.
    intention: str
    #: The host of users' requests where it is not the Service.
    host: str = ""
    #: What the second commit's subject adds.
    remark: str = ""
    #: Image pattern to behaviour, per cluster.
    broken_images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    needs_istio: bool = False
    #: The stage before which a demo that stays up asks for approval; empty: there is no pipeline.
    asks_before: str = "K8S_PRIMARY_ROLLOUT"
    #: How the second run has to end for the demo to be right.
    expected: statuses.RunStatus = statuses.RunStatus.SUCCEEDED

    @property
    def change(self) -> tuple[str, str]:
        """Text in the files of the first commit, and what the second has instead."""
        return f"example/{self.service}:v1", f"example/{self.service}:v2"

    @property
    def subject(self) -> str:
        """Subject of the second commit."""
        return f"Release {self.service} v2{self.remark}"

    @property
    def address(self) -> str:
        """The host of users' requests."""
        return self.host or self.service


SCENARIOS: Mapping[str, Scenario] = {
    "canary": Scenario(
        example="simple",
        service="simple",
        intention="Version 2 goes out on three clusters at once: canary and baseline first.",
    ),
    "istio": Scenario(
        example="istio",
        service="shop",
        intention="Version 2 gets 10 % of the users by an Istio VirtualService, then all.",
        needs_istio=True,
    ),
    "broken": Scenario(
        example="simple",
        service="simple",
        intention="Version 2 cannot be pulled in one cluster; nobody may notice.",
        remark=" (which eu cannot pull)",
        broken_images={"eu": {"example/simple:v2": "bad"}},
        asks_before="K8S_CANARY_ROLLOUT",
        expected=statuses.RunStatus.ROLLED_BACK,
    ),
}


def example_directory(scenario: Scenario) -> Path:
    """Return the folder of the example, in an installed package or in a checkout.

    Raises:
        errors.UserError: It is in neither.
    """
    package = Path(volary.__file__).parent
    for base in (package / "examples", package.parents[1] / "examples"):
        if (base / scenario.example).is_dir():
            return base / scenario.example
    raise errors.user_error(
        f"the example {scenario.example} was not installed with Volary",
        hint="run the demo from a checkout of the repository",
    )


@dataclass(frozen=True, slots=True)
class UserGroup:
    """Users who send requests in the same way."""

    name: str
    #: Requests per second and cluster.
    rate: float = 60.0
    #: Rates of clusters that differ.
    rates: Mapping[str, float] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficScenario(Scenario):
    """One scenario in which users really send requests."""

    service: str = "shop"
    #: The real proxy that follows the routes, where it is installed.
    proxy: proxies.Kind = proxies.Kind.ENVOY
    groups: tuple[UserGroup, ...] = (UserGroup("users"),)
    #: The version that may fail; empty: no request may.
    bad_version: str = ""
    #: What the scenario has shown, one sentence for the end.
    lesson: str = ""


TRAFFIC_SCENARIOS: Mapping[str, TrafficScenario] = {
    "bad-canary": TrafficScenario(
        example="analysis",
        intention="Version 2 fails 5 % of its requests. Nobody watches but the analysis.",
        remark=" (which fails now and then)",
        broken_images={name: {"example/shop:v2": "error-rate=5%"} for name in ("us", "eu", "asia")},
        expected=statuses.RunStatus.ROLLED_BACK,
        groups=(UserGroup("users", rate=120.0),),
        asks_before="K8S_TRAFFIC_ROUTING",
        bad_version="v2",
        lesson="Only a fifth of the users met version 2, and only until the analysis was sure.",
    ),
    "one-bad-region": TrafficScenario(
        example="analysis",
        intention="Version 2 fails in asia only, where a tenth of all users are.",
        remark=" (which asia does not like)",
        broken_images={"asia": {"example/shop:v2": "error-rate=20%"}},
        expected=statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS,
        groups=(UserGroup("users", rate=120.0, rates={"asia": 60.0}),),
        asks_before="K8S_TRAFFIC_ROUTING",
        bad_version="v2",
        lesson="One bad region is left out and goes back alone; the others have version 2.",
    ),
    "progressive": TrafficScenario(
        example="progressive",
        intention="Version 2 gets 5, 20, then 50 % of the users, in step over three clusters.",
        host="shop.example",
        proxy=proxies.Kind.TRAEFIK,
        asks_before="K8S_PROGRESSIVE_TRAFFIC",
        lesson="Each step was taken when the metrics of all three clusters allowed it.",
    ),
    "ab": TrafficScenario(
        example="ab-test",
        intention="Version 2 is for the beta group alone, until four checks have passed.",
        host="shop.example",
        proxy=proxies.Kind.TRAEFIK,
        groups=(
            UserGroup("everybody", rate=50.0),
            UserGroup("beta", rate=15.0, headers={"x-group": "beta"}),
        ),
        asks_before="K8S_PROGRESSIVE_TRAFFIC",
        lesson="Until promotion everybody met version 1, and the beta group version 2.",
    ),
    "blue-green": TrafficScenario(
        example="blue-green",
        intention="Version 2 starts beside version 1; then all users move at once.",
        asks_before="K8S_BLUE_GREEN",
        lesson="No mesh, only a Service whose selector moved; the rollback was one write.",
    ),
}
