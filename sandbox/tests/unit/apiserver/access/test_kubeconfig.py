"""The kubeconfig of a cluster."""

import base64
import stat
from pathlib import Path

import yaml

from kube_sandbox.apiserver.access import kubeconfig
from kube_sandbox.faults import faults_client


def test_the_context_bears_the_clusters_name() -> None:
    config = kubeconfig.build("eu", url="https://127.0.0.1:1", token="t", authority="PEM")

    assert config["current-context"] == "eu"
    assert config["contexts"][0]["name"] == "eu"
    encoded = config["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(encoded) == b"PEM"


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "eu.kubeconfig"
    path.write_text("older")
    path.chmod(0o644)

    kubeconfig.write(path, kubeconfig.build("eu", url="http://127.0.0.1:1", token="t"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert yaml.safe_load(path.read_text())["users"][0]["user"] == {"token": "t"}


def test_the_faults_client_finds_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("clusters: [{name: eu, kubeconfig: eu.kubeconfig}]")
    config = kubeconfig.build("eu", url="https://127.0.0.1:1", token="t", authority="PEM")
    kubeconfig.write(tmp_path / "eu.kubeconfig", config)

    found = faults_client.locate(tmp_path, "eu")

    assert found == faults_client.Address("https://127.0.0.1:1", "t", "PEM")
