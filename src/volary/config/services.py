"""``service``: the Service that carries the traffic, as pydantic models."""

from typing import Annotated

import pydantic
from pydantic import Field

from volary.config import section


class ServicePort(section.Section):
    """A port of a Service that is made."""

    port: Annotated[int, Field(ge=1, le=65535, strict=True)] = Field(description="Its number.")
    name: str = Field(default="", description="Its name.")
    target_port: int | str = Field(
        default="", description="Number or name of the pods' port; empty: `port`."
    )
    app_protocol: str = Field(default="", description="Protocol, such as `http`.")


class MadeService(section.Section):
    """A Service that leads to primary's pods of the workload."""

    ports: list[ServicePort] = Field(min_length=1, description="Its ports.")
    discover_ports: pydantic.StrictBool = Field(
        default=False,
        description="Add the ports of the workload's containers, but for those of mesh proxies.",
    )
    headless: pydantic.StrictBool = Field(default=False, description="Without a cluster IP.")
    traffic_distribution: str = Field(default="", description="`PreferClose` and the like.")
    labels: dict[str, str] = Field(default_factory=dict, description="Its labels.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Its annotations.")


class ServiceReference(section.ObjectReference):
    """Points at the Service that carries the traffic, or says how it is made."""

    create: MadeService | None = Field(
        default=None,
        description="Make the Service of that `name` when the manifests have none. It selects "
        "primary's pods (with Istio those of all variants, as its subsets choose), so "
        "`variantLabel.onPods` goes with it.",
    )
