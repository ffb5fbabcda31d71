"""What commands about clusters are told: see `bodies`."""

from typing import Annotated, Literal

import pydantic

from volary.config import values
from volary.server import bodies

#: Key and value of a taint (Kubernetes: labels).
Key = Annotated[
    str,
    pydantic.StringConstraints(min_length=1, max_length=317),
    pydantic.AfterValidator(values.label_key),
]
Value = Annotated[
    str, pydantic.StringConstraints(max_length=63), pydantic.AfterValidator(values.label_value)
]


class Reason(bodies.Body):
    """Why."""

    reason: bodies.Sentence = ""


class Taint(Reason):
    """A mark."""

    key: Key
    value: Value = ""
    effect: Literal["NoSchedule", "NoExecute"]


class Untaint(Reason):
    """A mark that is taken away."""

    key: Key
    effect: Literal["", "NoSchedule", "NoExecute"] = pydantic.Field(
        "", description="Empty: every mark of the key."
    )
