from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.decoding import values
from volary.model.pipeline.stage_kinds import rollout_stages


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1.5h", timedelta(minutes=90)),
        (".5s", timedelta(milliseconds=500)),
        ("300ms", timedelta(milliseconds=300)),
        ("250us", timedelta(microseconds=250)),
        ("1µs", timedelta(microseconds=1)),
        ("+5m", timedelta(minutes=5)),
        ("0", timedelta(0)),
        (90_000_000_000, timedelta(seconds=90)),
    ],
)
def test_durations_are_read_as_go_reads_them(written: object, expected: timedelta) -> None:
    assert values.duration(written) == expected


@pytest.mark.parametrize(
    "written", ["", "5", "5 m", "5x", "-5m", "1m-5s", True, [], "9999999h", -1]
)
def test_other_durations_are_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"duration|negative|longer"):
        values.duration(written)


@given(st.integers(0, 999), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int, milli: int) -> None:
    expected = timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milli)

    assert values.duration(f"{hours}h{minutes}m{seconds}s{milli}ms") == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (2, rollout_stages.Replicas(2)),
        ("2", rollout_stages.Replicas(2)),
        ("10%", rollout_stages.Replicas(10, is_percentage=True)),
        ("150%", rollout_stages.Replicas(150, is_percentage=True)),
        (2.9, rollout_stages.Replicas(2)),
    ],
)
def test_forms_of_replicas(written: object, expected: rollout_stages.Replicas) -> None:
    assert values.replicas(written) == expected


@pytest.mark.parametrize("written", ["abc", -1, "-1", "-5%", "1001%", "1.5", True, None, "9" * 30])
def test_other_replicas_are_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"must|neither"):
        values.replicas(written)


@pytest.mark.parametrize(("written", "expected"), [(10, 10), ("10", 10), ("10%", 10), (0, 0)])
def test_forms_of_percentages(written: object, expected: int) -> None:
    assert values.percentage(written) == expected


@pytest.mark.parametrize("written", ["1.5", 1.5, 101, -1, "ten", True, None])
def test_other_percentages_are_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"must|whole"):
        values.percentage(written)


@pytest.mark.parametrize(
    ("directory", "path", "leaves"),
    [
        ("apps/shop", "../../x", False),
        ("apps/shop", "../../../x", True),
        ("", "..", True),
        ("", "a/../b", False),
        ("apps", "a/../../../apps", True),
    ],
)
def test_paths_out_of_the_repository_are_told(directory: str, path: str, leaves: bool) -> None:
    assert values.leaves(directory, path) is leaves


@pytest.mark.parametrize("prefix", ["", "nginx.example/", "Not A Prefix", "a/b", f"{'a' * 254}"])
def test_no_annotation_could_be_named_with_such_a_prefix(prefix: str) -> None:
    with pytest.raises(ValueError, match="without a slash"):
        values.annotation_prefix(prefix)


def test_a_prefix_of_annotations_is_a_dns_name() -> None:
    assert values.annotation_prefix("nginx.org") == "nginx.org"
