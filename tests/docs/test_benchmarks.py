"""What the benchmarks write down is what was measured; pages say what the programs say now."""

import dataclasses
import importlib
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [each for each in sys.modules if each.split(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def headings(page: str) -> list[str]:
    """Return headings and the heads of tables, without figures."""
    lines = page.splitlines()
    heads = [line for line, after in itertools.pairwise(lines) if after[:5] == "| ---"]
    return [re.sub(r"\d+", "N", each) for each in lines if each.startswith("#")] + heads


def test_progression_says_what_was_asked_and_what_was_sent() -> None:
    progression, usage = module("progression"), module("usage")
    window = progression.Window(
        used=usage.Usage(20.0, 4.0),
        memory=150.4,
        asked=300,
        sent=100,
        different=80,
        requests={"GET pods": 200, "PATCH virtualservices/…": 100},
        checks=100,
        floor=1.0,
    )
    later = dataclasses.replace(window, checks=50)
    measured = progression.Measured(progression.Size(10, 3, 20, later=1), (window, later))

    page = progression.page([measured])

    assert (
        "| 10 × 3, at first | 5 | 20% | 1.20 s | 40.0 ms | 4.0 | 15 | 5 | 1.25 | 15 | 150 MiB |"
        in page
    )
    assert "| 10 × 3, later | 2 |" in page
    assert "GET pods: 4.00; PATCH virtualservices/…: 2.00" in page
    written = (ROOT / "benchmarks/progression.md").read_text()
    assert headings(page) == headings(written)


def test_rollouts_say_what_waves_cost() -> None:
    rollouts, usage = module("rollouts"), module("usage")

    def done(title: str, *runs: float, cpu: float) -> Any:
        return rollouts.Done(title, runs, usage.Usage(max(runs), cpu), 100.0)

    plan = rollouts.canary(100, 1)
    waved = rollouts.Measured(
        plan,
        done("first", 1.0, cpu=1),
        (done(rollouts.PLAIN, 10.0, cpu=10), done(rollouts.WAVES, 15.0, cpu=12)),
    )
    many = tuple(float(each) for each in range(1, 11))
    staged = rollouts.Measured(
        rollouts.staged(100, 2, 10),
        done("first", 1.0, cpu=1),
        (
            done(rollouts.ONE, 2.0, cpu=5),
            done(rollouts.ONE, 3.0, cpu=7),
            done(rollouts.MANY, *many, cpu=40),
        ),
    )

    page = rollouts.page(waved, staged)

    assert "| in three waves | 15.0 s | 1.50 | 120 ms | +20 ms | 100 MiB |" in page
    assert "| 2, one after the other | 2.0 s | 3.0 s | 3.0 s | 60 ms | 100 MiB |" in page
    assert "| 10 at once | 5.0 s | 9.0 s | 10.0 s | 40 ms | 100 MiB |" in page
    written = (ROOT / "benchmarks/fleets.md").read_text()
    assert [each for each in headings(page) if each not in headings(written)] == []


def test_the_page_of_the_server_has_no_place_left_empty() -> None:
    controller, usage = module("controller"), module("usage")
    application_load, durable, listing = map(module, ("application_load", "durable", "listing"))
    used = usage.Usage(3.0, 2.0, peak=100.0)
    findings = controller.Findings(
        load=0.5,
        durable=[durable.Measured("SQLite", 10, 10, used, 90, 1.0)],
        application_load=application_load.Measured(100, used, used, 1, used, idle_seconds=60.0),
        lists=listing.Measured((listing.Listed("runs", 1000, 1.0, 2.0, 3.0, 4.0, 9),), 5.0, 90.0),
    )

    page = controller.place("# Benchmarks\n", findings)

    assert "{{" not in page
    assert "| 100 | CPU of it, per application | 20 ms |" in page
    assert controller.place(page, findings) == page


def test_the_metrics_server_tells_queries_from_different_ones() -> None:
    server = module("metrics_server")
    with server.running() as address:
        import urllib.request

        for text in ("a", "a", "b"):
            urllib.request.urlopen(f"{address}/api/v1/query?query={text}&time=1").close()
        assert server.count(address) == server.Count(queries=3, different=2)


def test_files_to_release_are_applications(tmp_path: Path) -> None:
    from volary.config.application import application_files

    releasing, rollouts = module("releasing"), module("rollouts")
    for stages in (releasing.CANARY, releasing.PLAIN, releasing.progressive(10)):
        for waves in ("", rollouts.THREE, rollouts.HALVES):
            (files,) = releasing.files(["shop"], stages, "v1", waves=waves).values()
            loaded = application_files.parse(
                files["volary.yaml"], file="volary.yaml", default_name="shop"
            )
            assert loaded.problems == ()
            assert loaded.application is not None
            assert bool(loaded.application.waves.waves) == bool(waves)


def test_the_page_of_the_browser_says_what_is_beside_what() -> None:
    browser = module("browser")
    idle = browser.Frames((16.0,) * 98 + (25.0, 40.0), (), 50.0, 10.0)
    live = browser.Frames((16.0,) * 90 + (32.0,) * 10, (60.0, 80.4), 500.0, 400.0)

    page = browser.render(
        browser.Measured(0.1, 6000, 500, 10, 900.0, 160.0, idle, live, idle, live)
    )

    assert "| plain page, left alone | 100 | 2 (2.0%) | 0 | – | 0.50 ms | 0.10 ms |" in page
    assert "| run, 500 clusters report 10 times | 100 | 10 (10.0%) | 2 | 80 ms |" in page
    assert "busy 10.0 × as long as" in page
    assert "scripts run 0.08 ms for each" in page
    written = (ROOT / "benchmarks/browser.md").read_text()
    assert headings(page) == headings(written)


def test_the_page_beside_kubectl_says_what_an_object_costs() -> None:
    beside, usage = module("beside_kubectl"), module("usage")
    volary = beside.Measured(beside.VOLARY, usage.Usage(1.0, 0.5), {"get": 90, "list": 18})
    tool = beside.Measured("`kubectl apply`", usage.Usage(2.0, 1.0), {"patch": 180})

    page = beside.page([volary, tool], times=3, load=0.5)

    assert "| `volary run` | 1.00 s | 0.50 s | 1.00 | 1.00 | 108 | 1.20 | get 90, list 18 |" in page
    assert "a load of 0.5 on" in page
    assert "| `kubectl apply` | 2.00 s | 1.00 s | 0.50 | 0.50 | 180 | 2.00 | patch 180 |" in page
    written = (ROOT / "benchmarks/beside_kubectl.md").read_text()
    assert headings(page) == headings(written)
