"""What files of Volary and of PipeCD mean: the rules that are read from them, and warnings."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from volary.config.application import application_files
from volary.model import analysis
from volary.model.pipeline.stage_kinds import waiting_stages

METRIC: Mapping[str, Any] = {"provider": "prom", "query": "q", "interval": "1m"}
COUNTED: Mapping[str, Any] = {**METRIC, "kind": "proportion", "totalQuery": "t"}


def read(
    metrics: Sequence[Mapping[str, Any]], *, duration: str = "20m", is_pipecd: bool = False
) -> application_files.Loaded:
    """Read an application whose release is measured between canary and primary."""
    prefix = "K8S_MULTI_" if is_pipecd else "K8S_"
    names = ("CANARY_ROLLOUT", "BASELINE_ROLLOUT", "", "PRIMARY_ROLLOUT", "CANARY_CLEAN",
             "BASELINE_CLEAN")  # fmt: skip
    measured = {"name": "ANALYSIS", "with": {"duration": duration, "metrics": list(metrics)}}
    stages = [{"name": prefix + name} if name else measured for name in names]
    spec: dict[str, Any] = {"pipeline": {"stages": stages}}
    if is_pipecd:
        spec |= {"name": "shop", "plugins": {"kubernetes_multicluster": {}, "analysis": {}}}
    document = {
        "apiVersion": "pipecd.dev/v1beta1" if is_pipecd else "volary.dev/v1",
        "kind": "Application",
        **({} if is_pipecd else {"metadata": {"name": "shop"}}),
        "spec": spec,
    }
    file = "app.pipecd.yaml" if is_pipecd else "volary.yaml"
    # JSON is YAML.
    return application_files.parse(json.dumps(document), file=file, default_name="shop")


def rules(loaded: application_files.Loaded) -> tuple[analysis.Rule, ...]:
    """Return what is measured.

    Raises:
        UserError: the file is refused.
    """
    return tuple(
        rule
        for stage in loaded.require().pipeline
        if isinstance(stage.options, waiting_stages.AnalysisOptions)
        for rule in stage.options.metrics
    )
