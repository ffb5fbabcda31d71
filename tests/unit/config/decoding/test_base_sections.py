"""Definitions of options, read from files: dataclasses with bounds and words beside the types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, ClassVar

import pydantic
import pytest

from volary.config.decoding import base_sections, file_paths, readings
from volary.config.text import yaml
from volary.model import options


@dataclass(frozen=True, slots=True)
class Key:
    misplaced: ClassVar[Mapping[str, str]] = {"secret": "write it into a file"}

    secret_file: Annotated[options.RequiredFile, options.Option("A file.")]


@dataclass(frozen=True, slots=True)
class Shop:
    name: Annotated[options.DnsLabel, options.Form.NOT_EMPTY, options.Option("Its name.")]
    most: Annotated[int, options.Option("How many.", least=1, most=9)] = 3
    after: Annotated[timedelta, options.Option("How long.")] = timedelta(seconds=5)
    words: Annotated[tuple[str, ...], options.Option("Words.", most=2)] = ()
    keys: Annotated[tuple[Key, ...], options.Option("Keys.")] = ()
    key: Annotated[Key | None, options.Option("A key.", key="theKEY")] = None
    labels: Annotated[Mapping[str, str], options.Option("Labels.")] = field(default_factory=dict)
    #: Not written in files.
    since: int = 7


class File(base_sections.Section):
    shops: list[Shop] = pydantic.Field(default_factory=list)


def read(text: str) -> tuple[Shop | None, list[str]]:
    (document,) = yaml.load_all(text, "shop.yaml")
    reading = readings.Reading(document)
    found = reading.read(Shop, document.value, ())
    return found, [f"{one.where.line} {one.where.path}: {one.message}" for one in reading.problems]


def test_a_file_is_read_as_the_dataclass_itself() -> None:
    found, problems = read(
        "name: a\nafter: 1m\nwords: [v, w]\nkeys: [{secretFile: k}]\ntheKEY: {secretFile: l}\n"
    )

    assert not problems
    assert found == Shop("a", 3, timedelta(minutes=1), ("v", "w"), (Key("k"),), Key("l"))


def test_what_is_left_out_gets_the_default_of_the_definition() -> None:
    assert read("name: a") == (Shop("a"), [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("most: 3", "1 name: is required"),
        ("name: A_", "1 name: must be lower case letters"),
        ("name: ''", "1 name: must not be empty"),
        ("name: a\nmost: 10", "2 most: must be 9 or less, not 10"),
        ("name: a\nmost: 1.5", "2 most: must be a whole number, not 1.5"),
        ("name: a\nwords: x", "2 words: must be a list, not text"),
        ("name: a\nwords: [x, y, z]", "2 words: takes at most 2"),
        ("name: a\nkeys:\n  - {secretFile: ''}", "3 keys[0].secretFile: must not be empty"),
        ("name: a\nkeys:\n  - {secret: x, secretFile: w}", "3 keys[0].secret: secret does not"),
        ("name: a\nsince: 3", "2 since: unknown field since"),
    ],
)
def test_every_problem_has_its_line_and_path(text: str, problem: str) -> None:
    _, (found,) = read(text)

    assert found.startswith(problem)


def test_a_field_of_a_section_may_be_a_definition() -> None:
    found = File.model_validate({"shops": [{"name": "a"}, {"name": "b", "most": 1}]})

    assert found.shops == [Shop("a"), Shop("b", 1)]


def test_the_schema_has_bounds_words_and_keys() -> None:
    schema: dict[str, Any] = base_sections.section(Shop).model_json_schema()

    assert schema["required"] == ["name"]
    assert schema["properties"]["most"] == {
        "default": 3,
        "description": "How many.",
        "maximum": 9,
        "minimum": 1,
        "title": "Most",
        "type": "integer",
    }
    assert {"theKEY", "labels"} < schema["properties"].keys()
    assert "since" not in schema["properties"]


def test_files_are_seen_from_the_directory_of_the_file() -> None:
    shop = Shop("a", keys=(Key("k"), Key("/l")), key=Key("~/m"))

    found = file_paths.resolved(shop, "/etc")

    assert found == Shop("a", keys=(Key("/etc/k"), Key("/l")), key=Key("~/m"))
