"""What a run was planned to apply is kept with it, but for what Secrets hold."""

import base64
import zlib

import pytest

from volary.controller.planning import planned_manifests
from volary.controller.planning.planned_manifests import Side, WithheldObject
from volary.manifests import redaction
from volary.model import errors, json
from volary.model.objects import manifest

PASSWORD = "correct-horse-battery"
KEYS = {"new": b"tree of new", "old": b"tree of old"}


def item(kind: str, name: str, **more: object) -> manifest.Manifest:
    metadata = {"name": name, "namespace": "shop"}
    body: json.JsonObject = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}
    return manifest.Manifest(body, errors.Location("shop.yaml", 3))


def secret(password: str = PASSWORD) -> manifest.Manifest:
    data = {"password": base64.b64encode(password.encode()).decode()}
    return item("Secret", "database", data=data)


WEB = item("Service", "web", spec={"ports": [{"port": 80}], "weight": 2**70})
#: A value that got into another object by way of a template.
ADDRESS = item("ConfigMap", "address", data={"url": f"postgres://shop:{PASSWORD}@db"})


def packed(
    planned: planned_manifests.Planned, *, most: int = 100_000, keys: dict[str, bytes] = KEYS
) -> bytes:
    masker = redaction.Masker()
    masker.learn([secret()])
    return planned_manifests.pack(planned, masker, keys, most=most)


def test_what_was_planned_comes_back_as_it_was() -> None:
    planned = {
        Side("new", "us"): (WEB, item("ConfigMap", "config", data={"è": "\ud83d\x00"})),
        Side("new", "eu"): (WEB,),
        Side("old", "us", is_before=True): (WEB,),
        # The same commit, divided otherwise.
        Side("new", "eu", is_before=True): (),
    }

    assert planned_manifests.unpack(packed(planned)) == planned


def test_nothing_is_kept_of_nothing() -> None:
    assert packed({}) == b""
    assert planned_manifests.unpack(b"") == {}


def test_what_a_secret_holds_is_not_kept_wherever_it_is() -> None:
    kept = packed({Side("new", "us"): (WEB, secret(), ADDRESS)})
    read = planned_manifests.unpack(kept)[Side("new", "us")]

    text = zlib.decompress(kept).decode()
    assert PASSWORD not in text
    assert base64.b64encode(PASSWORD.encode()).decode() not in text
    assert read[0] == WEB
    assert [one.key for one in read if isinstance(one, WithheldObject)] == [
        secret().key,
        ADDRESS.key,
    ]


def test_who_has_no_repository_cannot_try_values() -> None:
    """The digest of a value is another one for each content of the repository."""
    planned = {Side("new", "us"): (secret(),)}

    assert packed(planned) != packed(planned, keys={"new": b"other files"})


def test_what_is_withheld_is_taken_from_a_rendering_that_is_the_same() -> None:
    planned = planned_manifests.unpack(packed({Side("new", "us"): (secret(), WEB, ADDRESS)}))
    later = item("Service", "web", spec={"ports": [{"port": 8080}]})

    again = planned_manifests.complete(
        planned[Side("new", "us")],
        # In another order, with an object that differs, and one that was not there.
        [item("ConfigMap", "added"), ADDRESS, later, secret()],
        KEYS["new"],
    )

    assert again == [secret(), WEB, ADDRESS]


@pytest.mark.parametrize("rendered", [[secret("another")], []])
def test_what_is_withheld_and_differs_is_named_and_not_applied(
    rendered: list[manifest.Manifest],
) -> None:
    planned = planned_manifests.unpack(packed({Side("new", "us"): (WEB, secret(), ADDRESS)}))

    with pytest.raises(planned_manifests.DiffersError) as raised:
        planned_manifests.complete(planned[Side("new", "us")], [ADDRESS, *rendered], KEYS["new"])

    assert str(raised.value).startswith("Secret shop/database would not be as planned")
    assert PASSWORD not in str(raised.value)


def test_what_is_kept_once_more_stays_withheld() -> None:
    """A rollback has what the run had that it rolls back."""
    once = planned_manifests.unpack(packed({Side("new", "us"): (WEB, secret())}))

    assert planned_manifests.unpack(packed(once)) == once


def test_of_very_much_only_digests_are_kept() -> None:
    large = item("ConfigMap", "large", data={str(n): f"{n * n:x}" for n in range(5_000)})
    planned = {Side("new", "us"): (large, WEB)}
    kept = packed(planned, most=10_000)

    assert len(packed(planned)) > 10_000 > len(kept)
    of_us = planned_manifests.unpack(kept)[Side("new", "us")]
    assert planned_manifests.complete(of_us, [WEB, large], KEYS["new"]) == [large, WEB]


def test_an_object_of_many_clusters_is_kept_once() -> None:
    alike = {Side("new", f"c{n}"): (WEB,) for n in range(200)}
    different = {
        Side("new", f"c{n}"): (WEB, item("ConfigMap", "own", data={"n": str(n)}))
        for n in range(200)
    }

    assert zlib.decompress(packed(alike)).count(b'"Service"') == 1
    assert zlib.decompress(packed(different)).count(b'"Service"') == 1
    assert planned_manifests.unpack(packed(different)) == different
