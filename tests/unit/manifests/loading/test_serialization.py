import json

from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import yaml
from volary.manifests.loading import documents, serialization
from volary.model.objects import manifest

scalars = (
    st.text(max_size=12)
    | st.sampled_from(
        ["on", "y", "N", "0644", "1e3", "1:30", "2020-01-01", "~", "0x1f", ".5", "=", "1_0"]
    )
    | st.integers(-(2**53), 2**53)
    | st.booleans()
    | st.none()
)
trees = st.recursive(
    scalars,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    ),
)


@given(trees)
def test_what_is_written_is_read_back(value: object) -> None:
    """Strings stay strings, whatever they look like to some reader."""
    found = yaml.load_all(serialization.dump_value({"value": value}))

    assert found[0].value == {"value": value}


def test_keys_come_in_the_usual_order_and_long_texts_stay_readable() -> None:
    body = {
        "status": {},
        "data": {"a": "one\ntwo\n"},
        "metadata": {"labels": {}, "name": "x"},
        "kind": "ConfigMap",
        "apiVersion": "v1",
    }

    assert serialization.dump([manifest.Manifest(body)]) == (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {}\n"
        "data:\n  a: |\n    one\n    two\nstatus: {}\n"
    )


def test_json_is_one_object_or_a_list(simple: list[manifest.Manifest]) -> None:
    single = json.loads(serialization.dump(simple[:1], serialization.Format.JSON))
    several = serialization.dump(simple, serialization.Format.JSON)

    assert single["kind"] == "ConfigMap"
    assert [item.body for item in documents.parse(several, file="")] == [
        item.body for item in simple
    ]


def test_json_is_indented_and_keeps_its_characters() -> None:
    item = manifest.Manifest({"kind": "A", "apiVersion": "v1", "x": "é"})
    one = serialization.dump([item], serialization.Format.JSON)
    two = serialization.dump([item, item], serialization.Format.JSON)

    assert one == '{\n  "apiVersion": "v1",\n  "kind": "A",\n  "x": "é"\n}\n'
    assert two.startswith('{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n    {\n')
    assert two.count("é") == 2


def test_an_object_begins_as_people_write_it_and_ends_with_its_status() -> None:
    metadata = {"annotations": {}, "extra": 1, "name": "a"}
    body = {"status": {}, "spec": {}, "x": 1, "metadata": metadata, "kind": "A"}

    arranged = serialization.arrange(body)
    assert list(arranged) == ["kind", "metadata", "spec", "x", "status"]
    assert list(arranged["metadata"]) == ["name", "annotations", "extra"]
