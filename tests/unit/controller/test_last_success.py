from pathlib import Path

from volary.controller import last_success


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    where = last_success.path({"XDG_STATE_HOME": str(tmp_path)})
    last_success.write(where, "one", "aaa")
    last_success.write(where, "two", "bbb")
    last_success.write(where, "one", "ccc")

    assert last_success.read(where, "one") == "ccc"
    assert last_success.read(where, "two") == "bbb"
    assert [each.name for each in where.parent.iterdir()] == [where.name]


def test_a_broken_file_is_as_good_as_none(tmp_path: Path) -> None:
    where = tmp_path / "state.json"
    where.write_text("{not json")

    assert last_success.read(where, "one") == ""
    last_success.write(where, "one", "aaa")
    assert last_success.read(where, "one") == "aaa"


def test_the_same_application_on_other_clusters_is_another_one() -> None:
    us = last_success.key("https://git.example/shop", "app", ["https://us"])
    eu = last_success.key("https://git.example/shop", "app", ["https://eu"])

    assert us != eu
