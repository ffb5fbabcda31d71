"""One seed, played from the beginning to the end, and checked."""

import gc
import random
from collections.abc import Iterable
from pathlib import Path

import pygit2

import command_world
from simulation import invariants, loops, sources, swarm, world

_RELEASES = 8
#: Notes that a failure shows, the last ones.
_SHOWN = 400
_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  {spec}
"""
_GATED = """planner: {alwaysUsePipeline: true}
  pipeline:
    stages:
    - {name: WAIT_APPROVAL, timeout: 30m, with: {approvers: [ana]}}
    - {name: WAIT_APPROVAL, timeout: 30m, with: {approvers: [ana]}}
    - {name: K8S_PRIMARY_ROLLOUT}"""


def make_source(directory: Path) -> sources.Source:
    """Make the repository: a release for each commit, some of which a cluster refuses."""
    commits = []
    for number in range(1, _RELEASES + 1):
        files = {
            "quick/volary.yaml": _APPLICATION.format(name="quick", spec="timeout: 10m"),
            "gated/volary.yaml": _APPLICATION.format(name="gated", spec=_GATED),
            "quick/objects.yaml": _objects(
                "quick", 5, number, {3: "eu"} if number % 4 == 2 else {}
            ),
            "gated/objects.yaml": _objects(
                "gated", 3, number, {1: "us"} if number % 5 == 3 else {}
            ),
        }
        for name, text in files.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(text)
        commits.append(command_world.commit(directory, f"Release v{number}"))
    # Without one it would be given an id by lot.
    pygit2.Repository(str(directory)).remotes.create("origin", "https://git.example.com/team/shop")
    return sources.Source(directory, commits)


def _objects(name: str, count: int, number: int, refused: dict[int, str]) -> str:
    """Return objects; one is refused by a cluster in the middle of being written."""
    return "\n---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-{place}}}\n"
        f"data: {{version: v{number}"
        f"{f', bad: poison-{refused[place]}' if place in refused else ''}}}"
        for place in range(count)
    )


def play(seed: int, source: sources.Source, plan: swarm.Plan | None = None) -> world.World:
    """Play one world to its end, and check all that has to hold; by itself the seed's own world.

    Raises:
        AssertionError: Something does not hold; with the seed and what happened.
    """
    random.seed(seed)
    plan = plan or swarm.draw(seed)
    # What is only slow says so itself; this ends what nobody looks at any more.
    loop = loops.Loop(seed, 4 * plan.most_steps)
    # When the collector runs is no part of a seed; after it, it finds what is left.
    gc.disable()
    try:
        return loop.run_until_complete(_play(seed, loop, source, plan))
    finally:
        loop.close()
        gc.enable()


async def _play(
    seed: int, loop: loops.Loop, source: sources.Source, plan: swarm.Plan
) -> world.World:
    async with world.opened(loop, source, plan) as given:
        try:
            await given.begin()
            await given.suffer()
            await given.settle()
            await invariants.check(given)
        except BaseException as error:
            error.add_note(f"seed {seed}\n" + "\n".join(given.notes[-_SHOWN:]))
            raise
    return given


def parse_seeds(text: str) -> Iterable[int]:
    """Return the seeds of ``7`` or ``1-20``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
