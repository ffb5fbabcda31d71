"""Warning headers are read as servers and gateways write them."""

import pytest

from volary.clusters.api import server_warnings


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([], []),
        (['299 - "v1 Endpoints is deprecated"'], ["v1 Endpoints is deprecated"]),
        (['299 - "a", 299 - "b"', '299 - "c"'], ["a", "b", "c"]),
        ([r'299 - "say \"x\" and \\"'], ['say "x" and \\']),
        (['299 gateway:80 "from a proxy" "Sun, 22 Nov 2026 00:00:00 GMT"'], ["from a proxy"]),
        (["nonsense"], []),
    ],
)
def test_each_warning_is_read(headers: list[str], said: list[str]) -> None:
    assert server_warnings.texts(headers) == said


def test_a_long_one_is_cut() -> None:
    assert server_warnings.texts([f'299 - "{"x" * 5000}"']) == ["x" * 400]


def test_only_what_is_heard_in_the_block_is_told() -> None:
    told: list[str] = []
    server_warnings.hear(['299 - "before"'])
    with server_warnings.told_to(told.append):
        server_warnings.hear(['299 - "within"'])
    server_warnings.hear(['299 - "after"'])

    assert told == ["within"]
