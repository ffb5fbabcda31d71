"""Selectors in a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.storage import selection


def _labelled(**labels: str) -> dict[str, object]:
    return {"metadata": {"name": "x", "labels": labels}}


@pytest.mark.parametrize(
    ("selector", "matching"),
    [
        ("tier=web", "a"),
        ("tier==web", "a"),
        ("tier!=web", "bc"),
        ("tier", "ab"),
        ("!tier", "c"),
        ("tier in (web, db)", "ab"),
        ("tier notin (web)", "bc"),
        ("tier,n=1", "a"),
        ("n>1", "b"),
        ("n<2", "a"),
        ("tier=", ""),
        ("tier in (web", None),
        ("=x", None),
        ("a=(b", None),
        ("n>many", None),
        ("a b", None),
        (",", None),
    ],
)
def test_label_selectors(selector: str, matching: str | None) -> None:
    objects = {
        "a": _labelled(tier="web", n="1"),
        "b": _labelled(tier="db", n="2"),
        "c": _labelled(),
    }

    if matching is None:
        with pytest.raises(api_errors.StatusError) as caught:
            selection.labels(selector)
        assert caught.value.code == 400
        return

    found = selection.labels(selector)
    assert found is not None
    assert "".join(name for name, body in objects.items() if found(body)) == matching


def test_no_selector_is_no_test() -> None:
    assert selection.labels(" ") is None
    assert selection.fields("", kinds.POD) is None


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    code = None
    try:
        found = selection.labels(text)
    except api_errors.StatusError as refused:
        found, code = None, refused.code

    assert code in (None, 400)
    assert found is None or found(_labelled(a="b")) in (True, False)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=x", True),
        ("metadata.name!=x", False),
        ("spec.nodeName=n1,status.phase=Running", True),
        ("status.phase==Pending", False),
        ("spec.hostNetwork=false", True),
    ],
)
def test_field_selectors_of_pods(selector: str, expected: bool) -> None:
    pod = {
        "metadata": {"name": "x", "namespace": "a"},
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running"},
    }

    found = selection.fields(selector, kinds.POD)

    assert found is not None
    assert found(pod) is expected


def test_events_are_selected_by_what_they_are_about() -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"}}

    found = selection.fields("involvedObject.kind=Pod,involvedObject.name=p", kinds.EVENT)

    assert found is not None
    assert found(event)


def test_other_fields_are_refused_by_name() -> None:
    with pytest.raises(api_errors.StatusError, match=r"field label not supported: spec\.replicas"):
        selection.fields("spec.replicas=1", kinds.POD)
