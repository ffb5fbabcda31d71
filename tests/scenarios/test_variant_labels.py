"""What lint asks for at the first release is enough for the second, whatever has the label."""

from pathlib import Path

import pytest

import command_world
import sandbox_fixtures

LABELS = {"app": "simple", "pipecd.dev/variant": "primary"}
LABEL = "pipecd.dev/variant: primary"
POD, SELECTOR = f"        {LABEL}\n", f"      {LABEL}\n"
SERVICE = f"    {LABEL}\n"
BASELINE = "      - name: K8S_BASELINE_ROLLOUT"
ROUTING = """\
      - name: K8S_TRAFFIC_ROUTING
        desc: Users see the canary
        with:
          all: canary
"""


def write(world: command_world.World, *, pods: bool, selector: bool, service: bool) -> None:
    """Given: the label is in some places only."""
    deployment = (world.directory / "deployment.yaml").read_text()
    head, tail = deployment.split("  template:\n")
    if not selector:
        head = head.replace(SELECTOR, "")
    if not pods:
        tail = tail.replace(POD, "")
    led = (world.directory / "service.yaml").read_text()
    world.write(
        {
            "deployment.yaml": f"{head}  template:\n{tail}",
            "service.yaml": led if service else led.replace(SERVICE, ""),
        },
        message="Labels",
    )


def put(world: command_world.World, option: str) -> None:
    """Given: an option in the Kubernetes part of the application file."""
    above = "    kubernetes_multicluster:\n"
    world.edit("app.pipecd.yaml", above, f"{above}      {option}\n")


async def two_releases(world: command_world.World) -> None:
    """When: it is linted, deployed, and released twice by its pipeline; then it runs."""
    linted = await world.volary("lint", ".")
    assert (linted.code, linted.out) == (0, ""), linted
    for number in (1, 2, 3):
        if number > 1:
            old, new = f"simple:v{number - 1}", f"simple:v{number}"
            world.edit("deployment.yaml", old, new, message=f"Release v{number}")
        ended = await world.run()
        assert ended.code == 0, ended
        assert world.images("us") == f"example/simple:v{number} 2/2"
        assert world.find("us", "Deployment", "simple-canary") is None


EVERYWHERE = frozenset({"pods", "selector", "service"})


@pytest.mark.parametrize(
    ("places", "routed"),
    [
        (EVERYWHERE, True),
        (EVERYWHERE - {"selector"}, True),
        (EVERYWHERE - {"selector"}, False),
        ({"pods"}, False),
        (set(), False),
    ],
)
async def test_what_lint_lets_pass_is_released_again_and_again(
    tmp_path: Path, places: set[str], routed: bool
) -> None:
    async with command_world.world(tmp_path, "us") as world:
        if not routed:
            world.edit("app.pipecd.yaml", ROUTING, "")
        write(world, **{place: place in places for place in ("pods", "selector", "service")})

        await two_releases(world)


@pytest.mark.parametrize("deployed", [True, False])
@pytest.mark.parametrize("by_option", [True, False])
async def test_the_hints_of_lint_lead_to_releases(
    tmp_path: Path, by_option: bool, deployed: bool
) -> None:
    """Also where it was deployed without them: the workload's selector cannot change then."""
    async with command_world.world(tmp_path, "us") as world:
        write(world, pods=False, selector=False, service=False)
        if deployed:
            await world.deployed()

        bare = await world.volary("lint", ".")
        write_service = (world.directory / "service.yaml").read_text()
        world.write(
            {"service.yaml": write_service.replace("app: simple\n", f"app: simple\n{SERVICE}")}
        )
        half = await world.volary("lint", ".")

        assert bare.code == half.code == 2
        assert f"write `{LABEL}` into spec.selector" in " ".join(bare.out.split())
        assert "the pods of Deployment simple lack the label" in half.out
        hint = " ".join(half.out.split())
        assert (
            "write it into spec.template.metadata.labels, or set variantLabel: {onPods: true}"
            in hint
        )
        if by_option:
            put(world, "variantLabel: {onPods: true}")
        else:
            world.edit("deployment.yaml", "      labels:\n", f"      labels:\n{POD}")
        await two_releases(world)


@pytest.mark.parametrize("by_option", [True, False])
async def test_an_adopted_workload_keeps_its_selector(
    tmp_path: Path, kubectl: sandbox_fixtures.Kubectl, by_option: bool
) -> None:
    """Git has the label in it, or `addVariantLabelToSelector` puts it there."""
    async with command_world.world(tmp_path, "us", tls=True) as world:
        names = ("config.yaml", "deployment.yaml", "service.yaml")
        committed = {name: (world.directory / name).read_text() for name in names}
        write(world, pods=False, selector=False, service=False)
        for name in names:
            file = str(world.directory / name)
            await kubectl(world.running.clusters["us"], "apply", "--filename", file)
        world.write(committed)
        write(world, pods=True, selector=not by_option, service=True)
        if by_option:
            put(world, "quickSync: {addVariantLabelToSelector: true}")

        planned = await world.volary("plan", ".", "--fleet", world.fleet)
        await two_releases(world)

        said = " ".join(planned.out.split())
        assert "Service default/simple (when pods are ready for it; adopts" in said, planned
        assert (
            "(keeps its selector, which cannot change: pipecd.dev/variant is on its pods; adopts"
            in said
        )

        live = world.find("us", "Deployment", "simple")
        assert live["spec"]["selector"]["matchLabels"] == {"app": "simple"}
        assert live["spec"]["template"]["metadata"]["labels"] == LABELS
        assert world.find("us", "Service", "simple")["spec"]["selector"] == LABELS
