"""The store: one resourceVersion, an ordered history with an end, and subscribers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.apiserver.storage import storage


def _body(name: str, **data: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "data": data}


def _names(items: object) -> list[str]:
    return [each.key[1] for each in items]  # type: ignore[attr-defined]


def test_every_write_of_any_kind_counts_the_same_version() -> None:
    store = storage.Storage(first_revision=5)

    first = store.put("a", "ns", "x", _body("x"))
    second = store.put("b", "", "y", _body("y"))
    store.remove("a", "ns", "x")

    assert (first.revision, second.revision, store.revision) == (6, 7, 8)
    assert first.body["metadata"]["resourceVersion"] == "6"


def test_a_stored_object_is_never_changed_in_place() -> None:
    store = storage.Storage()
    before = store.put("a", "ns", "x", _body("x", k="1"))

    store.put("a", "ns", "x", _body("x", k="2"))

    assert before.body["data"] == {"k": "1"}
    assert not before.current


def test_lists_are_sorted_and_cut_by_namespace() -> None:
    store = storage.Storage()
    for namespace, name in (("b", "x"), ("a", "z"), ("ab", "y"), ("a", "c")):
        store.put("k", namespace, name, _body(name))

    assert [each.key for each in store.list("k")] == [
        ("a", "c"),
        ("a", "z"),
        ("ab", "y"),
        ("b", "x"),
    ]
    assert _names(store.list("k", "a")) == ["c", "z"]
    assert _names(store.list("k", "a", after=("a", "c"))) == ["z"]
    assert _names(store.list("k", "nowhere")) == []


def test_the_history_tells_what_came_after() -> None:
    store = storage.Storage()
    start = store.put("k", "", "x", _body("x")).revision
    store.put("k", "", "x", _body("x", k="1"))
    store.put("other", "", "y", _body("y"))
    store.remove("k", "", "x")

    told = [(each.event, each.previous is None) for each in store.since("k", start)]

    assert told == [("MODIFIED", False), ("DELETED", False)]


def test_a_history_that_has_been_cut_says_so() -> None:
    store = storage.Storage(history=2)
    start = store.put("k", "", "x", _body("x")).revision
    for number in range(3):
        store.put("k", "", "x", _body("x", k=str(number)))

    with pytest.raises(storage.ExpiredError):
        store.since("k", start)
    assert len(store.since("k", start + 1)) == 2


def test_forgetting_expires_all_that_was() -> None:
    store = storage.Storage()
    start = store.put("k", "", "x", _body("x")).revision
    store.put("k", "", "y", _body("y"))

    store.forget()

    with pytest.raises(storage.ExpiredError):
        store.since("k", start)
    assert list(store.since("k", store.revision)) == []
    with pytest.raises(storage.ExpiredError):
        store.since("never-written", start)


def test_subscribers_hear_every_change_until_they_leave() -> None:
    store = storage.Storage()
    heard: list[str] = []
    leave = store.subscribe(lambda change: heard.append(change.event))

    store.put("k", "", "x", _body("x"))
    store.remove("k", "", "x")
    leave()
    store.put("k", "", "y", _body("y"))

    assert heard == ["ADDED", "DELETED"]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()), max_size=30)
)
def test_any_past_state_can_be_listed(steps: list[tuple[str, str, bool]]) -> None:
    """Undoing the history gives exactly what a list at that time gave."""
    store = storage.Storage()
    seen = {store.revision: store.list("k")}
    for namespace, name, add in steps:
        if add:
            store.put("k", namespace, name, _body(name, at=str(store.revision)))
        else:
            store.remove("k", namespace, name)
        seen[store.revision] = store.list("k")

    for revision, expected in seen.items():
        assert list(store.list_at("k", "", revision)) == list(expected)
