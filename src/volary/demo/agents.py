"""Agents of the demo: each joins as ``volary cluster join`` says, and runs in a process."""

from pathlib import Path

import yaml

from volary.cli.remote import agent_manifests
from volary.demo import processes, server_process


def write_fleet(fleet: Path, file: Path) -> None:
    """Write a fleet file in which each cluster of another one is reached through its agent."""
    document = yaml.safe_load(fleet.read_text())
    for cluster in document["clusters"]:
        for word in ("kubeconfig", "context"):
            cluster.pop(word, None)
        cluster["agent"] = True
    file.write_text(yaml.safe_dump(document, sort_keys=False))


async def join(
    server: server_process.DemoServer, cluster: str, kubeconfig: Path, directory: Path
) -> processes.Process:
    """Register the agent of a cluster, and return its process, which was not started yet.

    What would be applied to the cluster is put into the files that its pod would mount.

    Raises:
        errors.UserError: The server did not let it join.
    """
    printed = yaml.safe_load_all(await server.command("cluster", "join", cluster))
    by_kind = {each["kind"]: each for each in printed}
    mounted = {**by_kind["Secret"]["stringData"], **by_kind["ConfigMap"]["data"]}
    directory.mkdir(mode=0o700)
    for name, text in mounted.items():
        (directory / name).write_text(text)
    options = {
        "cluster": cluster,
        "server": server.url,
        "kubeconfig": kubeconfig,
        "token-file": directory / agent_manifests.TOKEN,
        "policy": directory / agent_manifests.POLICY,
        "private-key": directory / agent_manifests.PRIVATE_KEY,
        "signing-key": directory / agent_manifests.SIGNING_KEY,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return processes.Process(("agent", *words), directory / "agent.log")
