"""The providers and metrics in the how-to pages can be used as they stand."""

import re
from pathlib import Path

import pytest
import yaml

from volary.config.crosscheck import lint
from volary.config.fleet import fleet_files
from volary.model import errors, metric_providers

PAGES = Path(__file__).parents[2] / "docs/how-to"
NAMES = [each.value for each in metric_providers.ProviderType]


@pytest.mark.parametrize("name", NAMES)
def test_every_type_has_a_page_whose_files_are_right(name: str) -> None:
    page = (PAGES / f"metrics-{name}.md").read_text()
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    providers = [each["analysisProviders"] for each in blocks if "analysisProviders" in each]
    [metrics] = [each["metrics"] for each in blocks if "metrics" in each]
    clusters = {"kind": "Fleet", "clusters": [{"name": "us"}, {"name": "eu-2"}]}

    for each in providers:
        text = yaml.safe_dump({**clusters, "analysisProviders": each})
        found = fleet_files.parse(text, file="fleet.yaml")
        assert found.require().providers
        assert not found.problems
    text = yaml.safe_dump({**clusters, "analysisProviders": providers[0]})
    stage = {"name": "ANALYSIS", "with": {"duration": "10m", "metrics": metrics}}
    rollout, clean = {"name": "K8S_BASELINE_ROLLOUT"}, {"name": "K8S_BASELINE_CLEAN"}
    stages = [{"name": "K8S_CANARY_ROLLOUT"}, rollout, stage, {"name": "K8S_PRIMARY_ROLLOUT"}]
    application = {
        "apiVersion": "volary.dev/v1",
        "kind": "Application",
        "metadata": {"name": "shop"},
        "spec": {"pipeline": {"stages": [*stages, {"name": "K8S_CANARY_CLEAN"}, clean]}},
    }
    files = {"shop/volary.yaml": yaml.safe_dump(application, sort_keys=False)}
    found_wrong = lint.check(files, fleet_files.parse(text, file="fleet.yaml").require())

    assert [each for each in found_wrong if each.severity is errors.Severity.ERROR] == []
