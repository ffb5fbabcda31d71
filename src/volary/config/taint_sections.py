"""The fields of taints and tolerations, as Kubernetes writes them."""

from typing import Annotated

from pydantic import Field

from volary.config import section, values
from volary.model import taints

_KEY = "Such as `example.com/gpu`."


class Taint(section.Section):
    """A mark that keeps applications away from a cluster."""

    key: Annotated[values.LabelKey, Field(min_length=1)] = Field(description=_KEY)
    value: values.LabelValue = Field(default="", description="What tolerations may ask for.")
    effect: taints.Effect = Field(
        description="`NoSchedule`: nothing new begins there; `NoExecute`: besides, what runs "
        "there is to be moved, for applications with `placement.failover`."
    )


class Toleration(section.Section):
    """Marks that do not keep the application away."""

    key: values.LabelKey = Field(
        default="", description=f"{_KEY} Empty, with `operator: Exists`: every key."
    )
    operator: taints.TolerationOperator = Field(
        default=taints.TolerationOperator.EQUAL, description="`Equal` or `Exists`."
    )
    value: values.LabelValue = Field(default="", description="The value, with `Equal`.")
    effect: taints.Effect | None = Field(
        default=None, description="`NoSchedule` or `NoExecute`; not given: both."
    )
    toleration_seconds: Annotated[int, Field(ge=0, strict=True)] | None = Field(
        default=None,
        description="How long a `NoExecute` mark is put up with before the application is moved; "
        "not given: for ever.",
    )
