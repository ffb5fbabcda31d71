"""`volary server`: what is wrong is said in a sentence."""

import socket
from pathlib import Path

import pytest

from volary.cli import server_process
from volary.model import errors

SETTINGS = """
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
listen: 127.0.0.1:{port}
repositories: [{{name: shop, url: shop.git}}]
"""
FLEET = """
apiVersion: volary.dev/v1
kind: Fleet
clusters: [{name: us, kubeconfig: us.kubeconfig}]
"""


async def test_a_port_in_use_is_an_error_and_no_trace(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = SETTINGS.format(port=taken.getsockname()[1])
        (tmp_path / "server.yaml").write_text(settings)
        with pytest.raises(errors.UserError, match="cannot listen on"):
            await server_process.serve(str(tmp_path / "server.yaml"))
