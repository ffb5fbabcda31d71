"""The demos with real traffic: who asks, through what, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kube_sandbox import proxies
from volary.cli import stories
from volary.model import status

_CHANGE = ("example/shop:v1", "example/shop:v2")


@dataclass(frozen=True, slots=True)
class Group:
    """Users who ask in the same way."""

    name: str
    #: Requests per second and cluster.
    rate: float = 60.0
    #: Rates of clusters that differ.
    rates: Mapping[str, float] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrafficStory(stories.Story):
    """One scenario in which users really ask."""

    #: Whom users ask for.
    host: str = "shop"
    #: The real proxy that follows the routes, where it is installed.
    proxy: proxies.Kind = proxies.Kind.ENVOY
    groups: tuple[Group, ...] = (Group("users"),)
    #: The version that may fail; empty: no request may.
    bad_version: str = ""
    #: What to look at in the end, one sentence.
    lesson: str = ""


def _everywhere(image: str, behaviour: str) -> Mapping[str, Mapping[str, str]]:
    return {name: {image: behaviour} for name in ("us", "eu", "asia")}


STORIES: Mapping[str, TrafficStory] = {
    "bad-canary": TrafficStory(
        example="analysis",
        service="shop",
        intention="Version 2 fails 5 % of its requests. Nobody watches but the analysis.",
        change=_CHANGE,
        subject="Release shop v2 (which fails now and then)",
        broken_images=_everywhere("example/shop:v2", "error-rate=5%"),
        expected=status.RunStatus.ROLLED_BACK,
        groups=(Group("users", rate=120.0),),
        bad_version="v2",
        lesson="Only a fifth of the users met version 2, and only until the analysis was sure.",
    ),
    "one-bad-region": TrafficStory(
        example="analysis",
        service="shop",
        intention="Version 2 fails in asia only, where a tenth of all users are.",
        change=_CHANGE,
        subject="Release shop v2 (which asia does not like)",
        broken_images={"asia": {"example/shop:v2": "error-rate=20%"}},
        expected=status.RunStatus.ROLLED_BACK,
        groups=(Group("users", rate=120.0, rates={"asia": 60.0}),),
        bad_version="v2",
        lesson="Each cluster has a verdict of its own, so two good ones do not hide the third.",
    ),
    "progressive": TrafficStory(
        example="progressive",
        service="shop",
        intention="Version 2 gets 5, 20, then 50 % of the users, in step over three clusters.",
        change=_CHANGE,
        subject="Release shop v2",
        host="shop.example",
        proxy=proxies.Kind.TRAEFIK,
        lesson="Each step was taken when the metrics of all three clusters allowed it.",
    ),
    "ab": TrafficStory(
        example="ab-test",
        service="shop",
        intention="Version 2 is for the beta group alone, until four checks have passed.",
        change=_CHANGE,
        subject="Release shop v2",
        host="shop.example",
        proxy=proxies.Kind.TRAEFIK,
        groups=(
            Group("everybody", rate=50.0),
            Group("beta", rate=15.0, headers={"x-group": "beta"}),
        ),
        lesson="Until promotion everybody met version 1, and the beta group version 2.",
    ),
    "blue-green": TrafficStory(
        example="blue-green",
        service="shop",
        intention="Version 2 starts beside version 1; then all users move at once.",
        change=_CHANGE,
        subject="Release shop v2",
        lesson="No mesh, only a Service whose selector moved; the way back was one write.",
    ),
}
