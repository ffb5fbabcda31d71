"""A directory with Flagger's files is released as it is, by a command that knows nothing of them."""

from pathlib import Path

import command_world

KEY = "pipecd.dev/variant"


async def test_a_canary_is_carried_out_on_every_cluster(tmp_path: Path) -> None:
    """First deployment, then a release by weights: routes, pods, configuration, scaler."""
    async with command_world.world(tmp_path, "us", "eu", example="flagger", istio=True) as given:
        first = await given.run()
        assert first.code == 0, first
        for target in ("us", "eu"):
            service = given.find(target, "Service", "greeter")
            assert service["spec"]["selector"] == {"app": "greeter"}
            assert given.find(target, "Canary.flagger.app", "greeter") is None
        given.edit("workload.yaml", "GREETING: hello", "GREETING: good day", message="Say it")
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")
        given.edit("canary.yaml", "stepWeight: 50", "stepWeight: 100", message="At once")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        stages = [each["name"] for each in second.events[0]["stages"]]
        assert stages == [
            "K8S_CANARY_ROLLOUT",
            "K8S_PROGRESSIVE_TRAFFIC",
            "K8S_PRIMARY_ROLLOUT",
            "K8S_CANARY_CLEAN",
        ]
        for target in ("us", "eu"):
            assert given.images(target, "greeter") == "example/greeter:v2 1/1"
            assert given.find(target, "Deployment", "greeter-canary") is None
            assert given.find(target, "ConfigMap", "greeter-canary") is None
            config = given.find(target, "ConfigMap", "greeter")
            assert config["data"] == {"GREETING": "good day"}
            route = given.find(target, "VirtualService.networking.istio.io", "greeter")
            rule = route["spec"]["http"][0]
            assert rule["retries"]["attempts"] == 3
            assert [each["destination"]["subset"] for each in rule["route"]] == ["primary"]
