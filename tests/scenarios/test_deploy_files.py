"""Dashboards and alert rules: current, understood by Prometheus, about metrics that exist."""

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import server_world
from kube_sandbox.dataplane.servers import counters, exposition

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus/volary.rules.yaml"
sys.path.insert(0, str(ROOT / "tools"))

import write_dashboards  # noqa: E402 - a tool, not a package

#: Every selector has braces, also an empty pair: that is how names are told from functions.
SELECTED = re.compile(r"\b([a-z_][a-z0-9_]*)\{")
LABELS = re.compile(r'\b([a-z_]+)(?:=~|!~|!=|=)"')


def queries() -> list[str]:
    found = []
    for body in write_dashboards.dashboards().values():
        panels = body["panels"]
        found += [each["expr"] for panel in panels for each in panel.get("targets", ())]
    return found


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


async def promtool(*words: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    process = await asyncio.create_subprocess_exec(
        program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


def pod_metrics() -> str:
    """What a pod of the sandbox shows, with the labels that scraping adds."""
    counted = counters.Counters()
    for status in (200, 500):
        counted.observe("GET", status, 0.02, now=1.0)
    identity = exposition.Identity("us", "default", "shop-x", "shop", "shop", "v1", "primary")
    return exposition.write(identity, counted).decode()


def test_the_dashboards_are_current() -> None:
    for name, body in write_dashboards.dashboards().items():
        written = json.loads((DEPLOY / "grafana" / name).read_text())
        assert written == body, f"{name}: run python tools/write_dashboards.py"
        numbers = [each["id"] for each in body["panels"]]
        assert len(numbers) == len(set(numbers))
    kept = {each.name for each in (DEPLOY / "grafana").iterdir()}
    assert kept == set(write_dashboards.dashboards())


async def test_every_metric_they_name_exists(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.ask("GET", "/metrics")
        _, server = await world.ask("GET", "/metrics")
    shown = f"{server}\n{pod_metrics()}"
    # What has no label that was set yet is listed by its type only.
    exist = {line.split("{")[0].split(" ")[0] for line in shown.splitlines() if line[:1] != "#"}
    types = [line.split()[2:] for line in shown.splitlines() if line.startswith("# TYPE")]
    exist |= {name for name, _ in types}
    histograms = [name for name, kind in types if kind == "histogram"]
    exist |= {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}

    named = {
        name
        for text in (*queries(), *(rule["expr"] for rule in rules()))
        for name in SELECTED.findall(text)
    }

    assert len(named) > 10
    assert named - exist == set()


def test_the_labels_that_releases_are_selected_by_exist() -> None:
    """A wrong label finds nothing, which nobody would see."""
    added = {"cluster", "kubernetes_namespace", "kubernetes_pod_name"} | {
        *("workload", "variant", "version")
    }
    known = added | set(re.findall(r'[{,]([a-z_]+)="', pod_metrics()))
    for naming in write_dashboards.NAMINGS:
        used = LABELS.findall(f"{naming.where},{naming.failed}")
        assert set() < set(used) <= known, naming.name


async def test_prometheus_understands_the_rules() -> None:
    await promtool("check", "rules", str(RULES))


async def test_the_rules_fire_when_they_should() -> None:
    await promtool("test", "rules", str(RULES.with_name("volary.rules.test.yaml")))


async def test_prometheus_understands_the_dashboards(tmp_path: Path) -> None:
    """Their queries as recording rules, with Grafana's variables filled in."""
    filled = [
        text.replace("$__rate_interval", "1m").replace("$cluster", "us|eu") for text in queries()
    ]
    recorded = [
        {"record": f"dashboard:{number}", "expr": text} for number, text in enumerate(filled)
    ]
    path = tmp_path / "dashboards.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": recorded}]}))

    await promtool("check", "rules", str(path))
