"""What can be shown and in which forms; commands import this at start-up, so it imports nothing."""

from enum import StrEnum
from typing import Literal


class Form(StrEnum):
    """Forms of an answer."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Whether it is for programs: everything, as JSON or YAML."""
        return self in (Form.JSON, Form.YAML)


PlanForm = Literal["text", "markdown", "json"]
#: Of what is written line by line.
LinesForm = Literal["text", "json"]
#: What there is to get.
Noun = Literal["app", "apps", "runs", "clusters", "servers", "agents", "workers", "task-queues"]
