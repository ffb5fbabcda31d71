"""One repository has one name, however it is reached."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.text import git_addresses

_NAMES = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
_HOSTS = st.lists(_NAMES, min_size=1, max_size=3).map(".".join)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_USERS = st.sampled_from(["", "git@", "ana:swordfish@"])
_ENDS = st.sampled_from(["", ".git", "/", ".git/"])
_PORTS = st.sampled_from(["", ":22", ":8443"])


@given(host=_HOSTS, path=_PATHS, user=_USERS, port=_PORTS, ends=st.tuples(_ENDS, _ENDS, _ENDS))
def test_every_form_of_an_address_has_the_same_name(
    host: str, path: str, user: str, port: str, ends: tuple[str, str, str]
) -> None:
    forms = (
        f"https://{user}{host.upper()}{port}/{path}{ends[0]}",
        f"ssh://git@{host}{port}/{path}{ends[1]}",
        f"git@{host}:{path}{ends[2]}",
    )

    assert {git_addresses.canonical(form) for form in forms} == {f"{host}/{path}"}


@given(one=_PATHS, other=_PATHS, host=_HOSTS)
def test_other_paths_are_other_repositories(one: str, other: str, host: str) -> None:
    names = {git_addresses.canonical(f"https://{host}/{path}.git") for path in (one, other)}

    assert len(names) == len({one, other})


@pytest.mark.parametrize(
    "url", ["", "file:///srv/shop.git", "/srv/shop.git", "./shop", "../shop.git", "shop"]
)
def test_a_local_path_says_nothing_elsewhere(url: str) -> None:
    assert git_addresses.canonical(url) == ""


@pytest.mark.parametrize(
    "url", ["ssh://git@[FE80::1]/team/shop", "ssh://git@[fe80::1]:22/team/shop.git"]
)
def test_an_address_of_numbers_is_a_host_too(url: str) -> None:
    assert git_addresses.canonical(url) == "[fe80::1]/team/shop"
