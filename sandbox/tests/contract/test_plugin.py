"""The fixtures that other projects use, and the command, as they come with the distribution."""

import json
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml

from kube_sandbox import fleet


def nodes(cluster: fleet.Cluster) -> int:
    """Ask as any client would, from outside."""
    trust = None
    if cluster.certificate_authority:
        trust = ssl.create_default_context(cadata=cluster.certificate_authority)
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/nodes", headers={"Authorization": f"Bearer {cluster.token}"}
    )
    with urllib.request.urlopen(request, context=trust, timeout=30) as answer:
        return len(json.load(answer)["items"])


def test_a_cluster_answers_a_client_without_an_event_loop(cluster: fleet.Cluster) -> None:
    assert nodes(cluster) == 3


def test_the_kubeconfig_leads_to_the_cluster(kubeconfig: Path, cluster: fleet.Cluster) -> None:
    (known,) = yaml.safe_load(kubeconfig.read_text())["clusters"]

    assert known["cluster"]["server"] == cluster.url


class TestOtherSettings:
    @pytest.fixture
    def cluster_settings(self) -> fleet.Settings:
        return fleet.Settings(nodes=5, tls=False)

    def test_they_are_taken(self, cluster: fleet.Cluster) -> None:
        assert cluster.url.startswith("http://")
        assert nodes(cluster) == 5


def test_the_command_runs_clusters_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kube_sandbox", "up", "--clusters", "1", "--dir", "clusters"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        said = iter(started.stderr.readline, "")
        try:
            ready = next(line for line in said if line.startswith("ready: "))
            known = sorted(path.name for path in (tmp_path / "clusters").iterdir())
        finally:
            started.send_signal(signal.SIGINT)
        assert started.wait(30) == 0

    assert "clusters/fleet.yaml" in ready
    assert known == ["fleet.yaml", "us.kubeconfig"]


def test_the_command_is_installed_and_says_what_is_wrong(tmp_path: Path) -> None:
    program = shutil.which("kube-sandbox", path=str(Path(sys.executable).parent))
    assert program is not None
    ended = subprocess.run(
        [program, "fault", "us", "latency=1s", "--dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: cannot read ")
    assert "hint: start one with kube-sandbox up" in ended.stderr
