"""What the demo tells: which example, what the second commit changes, what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import volary
from volary.model import errors, status


@dataclass(frozen=True, slots=True)
class Story:
    """One scenario."""

    #: Folder below ``examples``.
    example: str
    #: Name of the Service whose users are watched, and of the Deployment.
    service: str
    #: One sentence for the beginning.
    intention: str
    #: Text in the files of the first commit, and what the second has instead.
    change: tuple[str, str]
    subject: str
    #: Image pattern to behaviour, per cluster.
    broken_images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    needs_istio: bool = False
    #: How the second run has to end for the demo to be right.
    expected: status.RunStatus = status.RunStatus.SUCCEEDED


STORIES: Mapping[str, Story] = {
    "canary": Story(
        example="simple",
        service="simple",
        intention="Version 2 goes out on three clusters at once: canary and baseline first.",
        change=("example/simple:v1", "example/simple:v2"),
        subject="Release simple v2",
    ),
    "istio": Story(
        example="istio",
        service="shop",
        intention="Version 2 gets 10 % of the users by an Istio VirtualService, then all.",
        change=("example/shop:v1", "example/shop:v2"),
        subject="Release shop v2",
        needs_istio=True,
    ),
    "broken": Story(
        example="simple",
        service="simple",
        intention="Version 2 cannot be pulled in one cluster; nobody may notice.",
        change=("example/simple:v1", "example/simple:v2"),
        subject="Release simple v2 (which eu cannot pull)",
        broken_images={"eu": {"example/simple:v2": "bad"}},
        expected=status.RunStatus.ROLLED_BACK,
    ),
}


def directory(story: Story) -> Path:
    """Return the folder of the example, in an installed package or in a checkout.

    Raises:
        errors.UserError: It is in neither.
    """
    package = Path(volary.__file__).parent
    for base in (package / "examples", package.parents[1] / "examples"):
        if (base / story.example).is_dir():
            return base / story.example
    raise errors.user_error(
        f"the example {story.example} was not installed with Volary",
        hint="run the demo from a checkout of the repository",
    )
