"""The gate of a wave by numbers: its clusters against those that do not have the release yet."""

import re
from pathlib import Path

import command_world
import metrics_server

V1, V2 = "simple:v1", "simple:v2"
NAMES = ("us", "eu", "asia")
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  waves:
  - name: first
    size: 1
    gate:
      analysis:
        duration: 2s
        holdFor: 1s
        metrics:
        - name: errors
          provider: prom
          kind: proportion
          query: 'errors{cluster="{{ cluster }}"}'
          totalQuery: 'requests{cluster="{{ cluster }}"}'
          interval: 1s
          strategy: NOT_UPDATED
          deviation: HIGH
          judgement: sequential
          minSamples: 500
  - name: rest
"""


async def test_a_wave_that_fails_more_often_than_the_others_goes_no_further(
    tmp_path: Path,
) -> None:
    """Of 1,000 requests a second 50 fail in us, which has the release, and 10 elsewhere."""

    def answer(query: str, time: float) -> float | None:
        found = re.fullmatch(r'(\w+)\{cluster="(\w+)"\}', query)
        assert found is not None, query
        if found[1] == "requests":
            return 1_000.0
        return 50.0 if found[2] == "us" else 10.0

    async with (
        metrics_server.serve() as metrics,
        command_world.world(tmp_path, *NAMES) as clusters,
    ):
        fleet = Path(clusters.fleet)
        fleet.write_text(metrics.fleet_text(fleet.read_text()))
        await clusters.deployed()
        metrics.answer = answer
        (clusters.directory / "app.pipecd.yaml").unlink()
        clusters.write({"volary.yaml": APPLICATION}, message="Judge each wave")
        clusters.edit("deployment.yaml", V1, V2, message="Release v2")

        ended = await clusters.run()

        assert {clusters.images(name) for name in NAMES} == {f"example/{V1} 2/2"}, ended.err
        assert "us ANALYSIS failed: errors on us" in ended.out
        assert "updated has 5.0 %" in ended.err
        assert "not updated 1.0 %" in ended.err
        assert "in wave rest" not in ended.err
