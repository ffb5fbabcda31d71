"""What watches tell is known as long as it is certainly as new as an answer would be."""

import asyncio
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, PODS, SLICES
from volary.clusters.client import informers
from volary.model import errors, json

pytestmark = pytest.mark.looptime


def body(name: str, version: int = 1, **labels: str) -> json.JsonObject:
    return {"metadata": {"name": name, "resourceVersion": str(version), "labels": labels}}


class World:
    """The informer of a client, whose cluster answered at some time."""

    def __init__(self, *bodies: json.JsonObject) -> None:
        self.answered = 0.0
        self.all = informers.Informers(lambda: self.answered)
        self.informer = self.all.open(CONFIG_MAPS, "shop")
        self.tell(*bodies)
        self.informer.is_listed = self.informer.standing.is_open = True

    def tell(self, *bodies: json.JsonObject) -> None:
        for one in bodies:
            self.informer.keep(one["metadata"]["name"], one)

    def names(self, **labels: str) -> "set[str] | None":
        told = self.all.list(CONFIG_MAPS, "shop", labels)
        return None if told is None else {one["metadata"]["name"] for one in told}

    def version(self, name: str) -> str:
        told = self.all.get(CONFIG_MAPS, name, "shop")
        return told["metadata"]["resourceVersion"] if told else ""


async def test_objects_are_found_by_their_labels_as_they_are_now() -> None:
    given = World(body("a", app="x", tier="1"), body("b", app="x"), body("c", app="y"))
    assert given.names(app="x") == {"a", "b"}
    assert given.names(app="x", tier="1") == {"a"}
    assert given.names(app="z") == set()
    assert given.names() == {"a", "b", "c"}

    given.tell(body("b", 2, app="y"))
    given.informer.keep("a", None)
    assert given.names(app="x") == set()
    assert given.names(app="y") == {"b", "c"}
    assert given.version("b") == "2"
    assert not given.version("a")


async def test_of_another_kind_or_namespace_nothing_is_known() -> None:
    given = World(body("a", app="x"))
    assert given.all.list(CONFIG_MAPS, "other", {"app": "x"}) is None
    assert given.all.list(PODS, "shop", {"app": "x"}) is None
    given.all.close("shop", given.informer)
    assert given.names(app="x") is None


@pytest.mark.parametrize("why", ["listed", "open", "error"])
async def test_what_may_be_old_is_not_known(why: str) -> None:
    given = World(body("a", app="x"))
    match why:
        case "listed":
            given.informer.is_listed = False
        case "open":
            given.informer.standing.is_open = False
        case _:
            given.informer.end(errors.PermanentError("no"))
    assert given.names(app="x") is None
    assert not given.version("a")
    assert len(given.informer.last_told({"app": "x"})) == 1


async def test_a_silent_cluster_is_asked() -> None:
    given = World(body("a", app="x"))
    await asyncio.sleep(20)
    assert given.names(app="x") == {"a"}
    await asyncio.sleep(1)
    assert given.names(app="x") is None
    given.answered = 21.0
    assert given.names(app="x") == {"a"}


@pytest.mark.parametrize(
    ("told", "is_known"), [(6, False), (7, True), (11, True)], ids=["older", "the same", "newer"]
)
async def test_what_was_written_is_not_known_until_it_has_come_back(
    told: int, is_known: bool
) -> None:
    given = World(body("a", 5, app="x"), body("b", 5, app="x"))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "7")
    assert not given.version("a")
    assert given.version("b") == "5"
    assert given.names(app="x") is None

    given.tell(body("a", told, app="x"))

    assert given.version("a") == (str(told) if is_known else "")
    assert given.names(app="x") == ({"a", "b"} if is_known else None)


async def test_what_came_back_before_the_answer_is_known() -> None:
    given = World(body("a", 7))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "7")
    assert given.version("a") == "7"


@pytest.mark.parametrize("is_gone", [True, False])
async def test_what_perhaps_was_written_or_is_deleted_has_to_be_told_of(is_gone: bool) -> None:
    given = World(body("a", 7, app="x"))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "")
    assert given.names(app="x") is None
    given.informer.keep("a", None if is_gone else body("a", 8, app="x"))
    assert given.names(app="x") == (set() if is_gone else {"a"})


async def test_versions_that_are_no_numbers_are_only_the_same_or_not() -> None:
    given = World(body("a"))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "w7")
    given.tell({"metadata": {"name": "a", "resourceVersion": "w8"}})
    assert not given.version("a")
    given.tell({"metadata": {"name": "a", "resourceVersion": "w7"}})
    assert given.version("a") == "w7"


@pytest.mark.parametrize(("after", "version", "took"), [(0.5, "7", 0.5), (3.0, "", 1.0)])
async def test_reading_back_waits_for_what_was_written(
    after: float, version: str, took: float
) -> None:
    given = World(body("a", 5))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "7")
    asyncio.get_running_loop().call_later(after, given.tell, body("a", 7))

    found = await given.all.read_back(CONFIG_MAPS, "a", "shop")

    assert (found["metadata"]["resourceVersion"] if found else "") == version
    assert asyncio.get_running_loop().time() == pytest.approx(took)


async def test_nothing_is_waited_for_that_nobody_follows() -> None:
    given = World(body("a", 5))
    given.all.wrote(CONFIG_MAPS, "a", "shop", "7")
    given.informer.standing.is_open = False
    assert await given.all.read_back(CONFIG_MAPS, "a", "shop") is None
    assert await given.all.read_back(PODS, "a", "shop") is None
    assert asyncio.get_running_loop().time() == 0


async def test_who_listens_is_woken_by_what_it_listens_for() -> None:
    given = World(body("a", app="x"), body("b", app="y"))
    changed = asyncio.Event()
    with given.informer.listening({"app": "x"}, changed):
        given.tell(body("b", 2, app="y"))
        assert not changed.is_set()
        for now in (body("a", 2, app="x"), body("a", 3, app="y"), body("a", 4, app="x"), None):
            given.informer.keep("a", now)
            assert changed.is_set()
            changed.clear()
        given.informer.end(errors.PermanentError("no"))
        assert changed.is_set()
    changed.clear()
    given.tell(body("a", 5, app="x"))
    assert not changed.is_set()


def test_of_pods_and_endpoints_only_what_is_read_is_kept() -> None:
    metadata = {"name": "a", "resourceVersion": "1", "managedFields": [{}], "annotations": {}}
    conditions = [{"type": "Ready", "status": "True"}]
    pod: Any = {"metadata": metadata, "spec": {"containers": []}}
    kept = informers.parts_of(
        PODS, {**pod, "status": {"phase": "Running", "conditions": conditions, "podIP": "1.2.3.4"}}
    )
    assert kept == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "resourceVersion": "1"},
        "status": {"phase": "Running", "conditions": conditions},
    }
    endpoints = [{"targetRef": {"name": "a"}}]
    of_service = informers.parts_of(
        SLICES, {"metadata": metadata, "endpoints": endpoints, "ports": []}
    )
    assert of_service["endpoints"] == endpoints
    assert "ports" not in of_service
    assert informers.parts_of(CONFIG_MAPS, pod) is pod
