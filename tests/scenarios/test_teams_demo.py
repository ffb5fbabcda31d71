"""When somebody types ``volary demo --scenario teams``."""

from pathlib import Path

import demo_world
from volary.demo import team_files


async def test_the_bad_team_gets_nothing_of_the_other(tmp_path: Path) -> None:
    ended = await demo_world.demo(tmp_path / "demo", "teams")

    assert ended.code == 0, ended.err
    assert "project team-b may not deploy ClusterRoleBinding" in ended.out
    assert "project team-b may not deploy to namespace team-a of us" in ended.out
    assert "project team-b may not deploy ResourceQuota" in ended.out
    assert "it is called shop.team-b-shop" in ended.out
    assert ended.out.count("there is no application shop\n") == 2
    assert "21 objects on 3 clusters, 0 of them changed" in ended.out
    assert team_files.PASSWORD not in ended.out + ended.err
