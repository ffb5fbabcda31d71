import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.gitops import webhooks
from volary.gitops.webhooks import Provider, PushEvent, Rejection

SECRET = "s3cret"
HEADERS = {
    Provider.GITHUB: ("x-hub-signature-256", "sha256="),
    Provider.GITEA: ("x-gitea-signature", ""),
    Provider.BITBUCKET: ("x-hub-signature", "sha256="),
}


def signed(provider: Provider, body: bytes) -> dict[str, str]:
    if provider is Provider.GITLAB:
        return {"x-gitlab-token": SECRET}
    name, prefix = HEADERS[provider]
    return {name: prefix + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}


PUSH = {"ref": "refs/heads/release/1", "after": "abc"}
BITBUCKET = {"push": {"changes": [{"new": {"name": "release/1", "target": {"hash": "abc"}}}]}}


@pytest.mark.parametrize("provider", list(Provider))
def test_a_genuine_push_tells_branch_and_commit(provider: Provider) -> None:
    body = json.dumps(BITBUCKET if provider is Provider.BITBUCKET else PUSH).encode()

    assert webhooks.read(provider, signed(provider, body), body, SECRET) == PushEvent(
        "release/1", "abc"
    )


@pytest.mark.parametrize("provider", list(Provider))
@pytest.mark.parametrize("secret", ["other", ""])
def test_whoever_does_not_know_the_secret_is_refused(provider: Provider, secret: str) -> None:
    body = b"{}"

    answer = webhooks.read(provider, signed(provider, body), body, secret)

    assert isinstance(answer, Rejection)
    assert answer.status == 401


def test_a_large_body_is_refused_before_anything_else() -> None:
    body = b" " * (webhooks.LARGEST_BODY + 1)

    assert webhooks.read(Provider.GITHUB, {}, body, SECRET) == Rejection(
        413, "the body is larger than 256 KiB"
    )


@pytest.mark.parametrize("provider", list(Provider))
@given(
    told=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["ref", "after", "push", "changes", "new", "name", "target"]),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_shape_crashes(provider: Provider, told: object) -> None:
    body = json.dumps(told).encode()

    assert isinstance(webhooks.read(provider, signed(provider, body), body, SECRET), PushEvent)


def test_what_is_no_json_is_a_hint_for_the_whole_repository() -> None:
    body = b"\xff[" * 1000

    assert (
        webhooks.read(Provider.GITLAB, signed(Provider.GITLAB, body), body, SECRET) == PushEvent()
    )
