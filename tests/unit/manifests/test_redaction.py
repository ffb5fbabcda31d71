"""A secret value is found in every form in which programs repeat it, and other words are left."""

import base64
import json
from urllib import parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests import redaction
from volary.model.objects import manifest

MASK = redaction.MASK
VALUE = 'pa<ss w/ö&"rd+1'


def knowing(*values: object) -> redaction.Masker:
    masker = redaction.Masker()
    masker.learn_values(values)
    return masker


def of_secret(**body: object) -> redaction.Masker:
    masker = redaction.Masker()
    masker.learn([manifest.Manifest({"apiVersion": "v1", "kind": "Secret", **body})])
    return masker


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        base64.b64encode(VALUE.encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode().rstrip("="),
        parse.quote(VALUE),
        parse.quote(VALUE, safe=""),
        parse.quote(VALUE, safe="").lower(),
        parse.quote_plus(VALUE),
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        json.dumps(VALUE)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026"),
        VALUE.encode().hex(),
        repr(VALUE)[1:-1],
    ],
)
def test_a_value_in_each_of_its_forms(form: str) -> None:
    assert knowing(VALUE).clean(f"it says {form}!") in (f"it says {MASK}!", f"it says {MASK}=!")


@given(before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_a_value_inside_of_something_in_base64(before: bytes, after: bytes) -> None:
    """Six bits make a character, so what stands around decides which characters they are."""
    whole = base64.b64encode(before + VALUE.encode() + after).decode()

    assert MASK in knowing(VALUE).clean(whole)
    left = knowing(VALUE).clean(whole).replace(MASK, "")
    assert len(left) <= len(whole) - (len(VALUE.encode()) * 8 // 6 - 3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (48151623, "json: cannot unmarshal number 48151623 into Go struct field"),
        (48151623, "Invalid value: 4.8151623e+07: must be a string"),
        (48151623, 'Invalid value: "48151623"'),
        ("48151623", "Invalid value: 48151623"),
        (3.14159265, "Invalid value: 3.14159265"),
        (-481516, "Invalid value: -481516"),
        ([4, 8, 1, 5], "Invalid value: [4 8 1 5]"),
        ([4, 8, 1, 5], "Invalid value: [4,8,1,5]"),
        ({"pin": {"code": [48151623]}}, "map[pin:map[code:[48151623]]]"),
        (["first-value", {"a": "second-value"}], "first-value and second-value"),
    ],
)
def test_numbers_lists_and_maps_as_clusters_repeat_them(value: object, said: str) -> None:
    for masker in (
        knowing(value),
        of_secret(stringData={"a": value}),
        of_secret(data={"a": value}),
    ):
        cleaned = masker.clean(said)

        assert MASK in cleaned
        assert not any(text in cleaned for text in ("4815", "4.81", "4 8", "1415", "-value"))


def test_a_number_is_not_masked_inside_of_a_longer_one() -> None:
    assert knowing(2026).clean("2026, 120261 and 20261") == f"{MASK}, 120261 and 20261"


@pytest.mark.parametrize(
    "value", [True, False, None, 1, 443, "on", "abc", "true", "None", "", "default", 1.5, "1.5"]
)
def test_ordinary_words_are_left(value: object) -> None:
    text = f"{value} true 1 443 on abc None default 1.5"
    masker = knowing(value, [value], {"a": value})

    assert masker.clean(text) == text
    assert not masker.occurs_in(text)


def test_lines_of_a_long_text_and_base64_that_is_cut_into_lines() -> None:
    key = "".join(f"line {count} of a private key\n" for count in range(9))
    masker = knowing(key)
    cut = base64.encodebytes(key.encode()).decode()

    assert masker.clean("bad: line 4 of a private key") == f"bad: {MASK}"
    assert "line" not in masker.clean(key.replace("\n", "\n    "))
    for line in masker.clean(cut).splitlines():
        assert line.replace(MASK, "") == ""


def test_what_stands_in_json_inside_of_a_secret() -> None:
    auth = {"auths": {"registry.example": {"username": "robot", "password": "correct-horse"}}}
    text = json.dumps(auth)
    for masker in (
        of_secret(stringData={".dockerconfigjson": text}),
        of_secret(data={".dockerconfigjson": base64.b64encode(text.encode()).decode()}),
    ):
        assert masker.clean("robot may not pull with correct-horse") == (
            f"{MASK} may not pull with {MASK}"
        )


def test_the_longest_of_two_values_and_what_others_know() -> None:
    process = redaction.Masker(["token-of-the-server"])
    masker = redaction.Masker(["token", "token-of-shop"], beside=(process,))
    process.add("learnt-later")

    cleaned = masker.clean("token token-of-shop token-of-the-server learnt-later")

    assert cleaned == " ".join([MASK] * 4)
    assert masker.occurs_in("… learnt-later …")


def test_the_newest_values_are_kept() -> None:
    masker = redaction.Masker(["first-value", "second-value", "third-value"])

    masker.keep_newest(2)

    assert masker.clean("first-value second-value third-value") == f"first-value {MASK} {MASK}"


def test_one_look_at_each_character_however_many_values_there_are() -> None:
    """Measured in looks, not in seconds: the same for one value and for thousands."""

    class Counted(str):
        looks = 0

        def __getitem__(self, key: object) -> str:
            Counted.looks += 1
            return super().__getitem__(key)  # type: ignore[index]

    looks = []
    for count in (1, 3000):
        masker = redaction.Masker([f"{number:04}-value" for number in range(count)])
        Counted.looks = 0
        masker.occurs_in(Counted("a sentence without any of them " * 20))
        looks.append(Counted.looks)

    assert looks[0] == looks[1]
