"""The order of test files: those that wait a lot stand among those that calculate.

Workers take neighbouring tests. Were all scenarios neighbours, each processor would wait for the
world at the end, after it has had no time to spare at the beginning.
"""

import pytest

#: Where tests play with servers, clusters and programs in real time.
_WAITING = ("browser", "clusters", "scenarios", "simulation")
#: The files that wait stand in this part of all tests: none of them should be the last to begin.
_PART = 0.85


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files that wait evenly; the order within a file stays."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    folders = tuple(f"tests/{name}/" for name in _WAITING)
    waiting = [tests for name, tests in files.items() if name.startswith(folders)]
    others = [tests for name, tests in files.items() if not name.startswith(folders)]
    items[:] = [test for tests in spread(waiting, others) for test in tests]


def spread(
    waiting: list[list[pytest.Item]], others: list[list[pytest.Item]]
) -> list[list[pytest.Item]]:
    """Return all files, those that wait at equal distances by the number of tests between them."""
    total = sum(map(len, others)) * _PART
    spread_files, passed, taken = [], 0, 0
    for tests in others:
        while taken < len(waiting) and passed * len(waiting) >= taken * total:
            spread_files.append(waiting[taken])
            taken += 1
        spread_files.append(tests)
        passed += len(tests)
    return [*spread_files, *waiting[taken:]]
