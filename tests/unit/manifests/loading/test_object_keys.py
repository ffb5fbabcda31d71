"""Whether the key that an object carries is its own, or that of what it is a copy of."""

import pytest

from volary.manifests.loading import object_keys

BODY = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("apps:Deployment:shop:web", True),
        ("apps:Deployment::web", True),
        ("Apps:deployment:shop:web", True),
        ("apps:StatefulSet:shop:web", False),
        ("extensions:Deployment:shop:web", False),
        ("apps:Deployment:cart:web", False),
        ("apps:Deployment:shop:web-copy", False),
    ],
)
def test_a_copy_carries_the_key_of_another_object(written: str, expected: bool) -> None:
    key = object_keys.parse(written)

    assert key is not None
    assert object_keys.is_own_key(key, BODY) is expected
