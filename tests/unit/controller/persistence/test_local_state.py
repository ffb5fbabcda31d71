from pathlib import Path

from volary.controller.persistence import local_state


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    where = local_state.state_path({"XDG_STATE_HOME": str(tmp_path)})
    local_state.write_commit(where, "one", "aaa")
    local_state.write_commit(where, "two", "bbb")
    local_state.write_commit(where, "one", "ccc")

    assert local_state.read_commit(where, "one") == "ccc"
    assert local_state.read_commit(where, "two") == "bbb"
    assert [each.name for each in where.parent.iterdir()] == [where.name]


def test_a_broken_file_is_as_good_as_none(tmp_path: Path) -> None:
    where = tmp_path / "state.json"
    where.write_text("{not json")

    assert local_state.read_commit(where, "one") == ""
    local_state.write_commit(where, "one", "aaa")
    assert local_state.read_commit(where, "one") == "aaa"


def test_the_same_application_on_other_clusters_is_another_one() -> None:
    us = local_state.application_key("https://git.example/shop", "app", ["https://us"])
    eu = local_state.application_key("https://git.example/shop", "app", ["https://eu"])

    assert us != eu
