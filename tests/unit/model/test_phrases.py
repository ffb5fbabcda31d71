"""Lists in sentences stay short, and say how much they leave out."""

from volary.model import phrases

_FLEET = [f"c{number}" for number in range(100)]


def test_lists_of_clusters_stay_short() -> None:
    assert phrases.join_names([]) == ""
    assert phrases.join_names(_FLEET[:5]) == "c0, c1, c2, c3 and c4"
    assert phrases.join_names(_FLEET) == "c0, c1, c2, c3 and 96 more"


def test_the_first_are_named_and_the_others_counted() -> None:
    assert phrases.first_of([]) == ""
    assert phrases.first_of(_FLEET[:5]) == "c0, c1, c2, c3, c4"
    assert phrases.first_of(_FLEET[:6]) == "c0, c1, c2, c3, c4 and 1 more"
    assert phrases.first_of((name for name in _FLEET), 2) == "c0, c1 and 98 more"


def test_sentences_are_joined_by_semicolons() -> None:
    assert phrases.first_of(["it is gone"], 1, "; ") == "it is gone"
    assert phrases.first_of(["a", "b", "c"], 2, "; ") == "a; b; and 1 more"


def test_a_full_commit_is_shortened() -> None:
    assert phrases.short_commit("0123456789" * 4) == "0123456"
    assert phrases.short_commit("files-0123456789") == "files-0123456789"
