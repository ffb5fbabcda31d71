"""What can be shown and in which forms; commands import this at start-up, so it imports nothing."""

from enum import StrEnum


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


class PlanForm(StrEnum):
    """Forms of a plan."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class Noun(StrEnum):
    """What there is to get."""

    APP = "app"
    APPS = "apps"
    RUNS = "runs"
    CLUSTERS = "clusters"
