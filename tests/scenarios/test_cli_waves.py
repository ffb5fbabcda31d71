"""Releases in waves by the command line: what clusters go back to is what they ran."""

from pathlib import Path

import command_world

WAVES = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  waves:
  - name: first
    size: 1
  - name: rest
    onFailure: %s
"""


def told(given: command_world.World) -> dict[str, str]:
    return {name: given.images(name) for name in given.running.clusters}


async def test_a_cluster_goes_back_to_what_it_ran_and_not_to_what_the_others_run(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us", "eu", "asia") as given:
        (given.directory / "app.pipecd.yaml").unlink()
        (given.directory / "volary.yaml").write_text(WAVES % "rollbackWave")
        # So that a bad image is a failure after a second of these clusters' time.
        given.edit(
            "deployment.yaml", "spec:\n", "spec:\n  progressDeadlineSeconds: 20\n", message="Hurry"
        )
        await given.deployed()
        given.running.clusters["asia"].faults.images.add("example/simple:v2", "bad")
        given.edit("deployment.yaml", "simple:v1", "simple:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 1, second
        assert second.events[-1]["reason"].endswith("us keeps the new release")
        v1, v2 = "example/simple:v1 2/2", "example/simple:v2 2/2"
        assert told(given) == {"us": v2, "eu": v1, "asia": v1}

        # The next release fails in the last wave as well, and takes everything back this time.
        (given.directory / "volary.yaml").write_text(WAVES % "rollbackAll")
        given.running.clusters["asia"].faults.images.add("example/simple:v3", "bad")
        given.edit("deployment.yaml", "simple:v2", "simple:v3", message="Release v3")

        third = await given.run()

        assert third.code == 1, third
        assert "but " in third.err
        assert " on us" in third.err
        assert "rollback verified on eu, asia and us" in third.out
        assert told(given) == {"us": v2, "eu": v1, "asia": v1}
