"""When somebody types ``volary demo``; then look that nothing is left behind."""

from pathlib import Path

import command_world
import warm_processes


def shell(base: Path) -> command_world.Shell:
    """Given: an empty directory with a place for temporary files."""
    base.mkdir(exist_ok=True)
    (base / "tmp").mkdir()
    return command_world.Shell(base, command_world.environment(base))


async def demo(base: Path, scenario: str, **environment: str) -> command_world.Ended:
    """Run a scenario and return how it ended, after making sure that nothing is left."""
    typing = shell(base)
    async with typing.start("demo", "--scenario", scenario, **environment) as started:
        ended = await started.ended()
        group = started.process.pid
    assert warm_processes.of_session(group) == {}
    assert list((base / "tmp").iterdir()) == []
    assert [each.name for each in base.iterdir()] == ["tmp"]
    return ended
