"""Stock kubectl, as people type it. It sends no token without TLS."""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kube_sandbox import fleet

_BESIDE = Path(sys.executable).parent / "kubectl"
PROGRAM = str(_BESIDE) if _BESIDE.exists() else shutil.which("kubectl")
needed = pytest.mark.skipif(PROGRAM is None, reason="kubectl is not installed")


async def run(cluster: fleet.Cluster, *words: str, text: str = "", **environment: str) -> str:
    """Run ``kubectl …`` with `text` as its input, and return what it printed."""
    code, out, err = await _run(cluster, words, text, environment)
    assert code == 0, f"kubectl {' '.join(words)}: {err}"
    return out


async def refused(cluster: fleet.Cluster, *words: str, text: str = "") -> str:
    """Run ``kubectl …``, which has to fail, and return why."""
    code, out, err = await _run(cluster, words, text, {})
    assert code != 0, f"kubectl {' '.join(words)} was not refused: {out}"
    return err


async def _run(
    cluster: fleet.Cluster, words: Sequence[str], text: str, environment: Mapping[str, str]
) -> tuple[int | None, str, str]:
    assert PROGRAM is not None
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        f"--kubeconfig={cluster.kubeconfig_path}",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "HOME": str(cluster.kubeconfig_path.parent),
            "PATH": os.environ["PATH"],
            **environment,
        },
    )
    out, err = await process.communicate(text.encode())
    return process.returncode, out.decode(), err.decode()
