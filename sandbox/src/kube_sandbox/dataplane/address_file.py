"""The file that tells other processes where a fleet's traffic goes in."""

import json as text
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kube_sandbox import errors

FILE = "traffic.json"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of a running fleet."""

    #: Of each cluster's proxy.
    gateways: Mapping[str, str]
    metrics: str


def write(directory: Path, addresses: Addresses) -> None:
    """Write the file."""
    content = {"gateways": dict(addresses.gateways), "metrics": addresses.metrics}
    (directory / FILE).write_text(text.dumps(content, indent=2) + "\n")


def remove(directory: Path) -> None:
    """Remove the file: the fleet has ended."""
    (directory / FILE).unlink(missing_ok=True)


def read(directory: Path) -> Addresses:
    """Read the file of a running fleet.

    Raises:
        UserError: There is none: nothing runs there, or without real traffic.
    """
    path = directory / FILE
    try:
        content = text.loads(path.read_text())
        return Addresses(dict(content["gateways"]), str(content["metrics"]))
    except OSError:
        raise errors.UserError(
            f"no sandbox with real traffic runs in {directory}",
            hint=f"start one: kube-sandbox up --traffic --dir {directory}",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise errors.UserError(f"{path} was not written by a sandbox") from None
