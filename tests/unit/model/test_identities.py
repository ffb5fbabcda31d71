import pytest

from volary.model import identities


@pytest.mark.parametrize(
    ("name", "known", "is_among"),
    [
        ("token:ci", "token:ci", True),
        ("oidc:ana", "oidc:ana", True),
        ("oidc:ana", "ana", True),  # as PipeCD writes it
        ("ana", "ana", True),  # `volary run --approve-as`
        ("local", "local", True),
        ("token:ana", "ana", False),
        ("local", "oidc:local", False),
        ("oidc:local", "local", False),
        ("oidc:token:ci", "token:ci", False),
        ("oidc:oidc:ana", "oidc:ana", False),
        ("ana", "oidc:ana", False),
        ("oidc:ana", "oidc:an", False),
    ],
)
def test_nobody_is_taken_for_somebody_of_another_source(
    name: str, known: str, is_among: bool
) -> None:
    assert identities.is_among(name, ["eve", known]) is is_among
