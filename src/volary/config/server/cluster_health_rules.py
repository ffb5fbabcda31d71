"""``clusterHealth`` in the controller's settings: what is wrong with it."""

from datetime import timedelta

from volary.config.decoding import readings
from volary.config.placement import wave_rules
from volary.config.text import yaml
from volary.model.fleet import cluster_health

PATH: yaml.Path = ("clusterHealth",)
_SHORTEST = timedelta(seconds=1)


def check(reading: readings.Reading, rules: cluster_health.HealthRules) -> None:
    """Note what is wrong with how clusters are watched."""
    for key, value in (("interval", rules.interval), ("timeout", rules.timeout)):
        if value < _SHORTEST:
            reading.error((*PATH, key), "must be at least one second", "write 10s")
    for place, rule in enumerate(rules.taints):
        wave_rules.check_selector(reading, rule.targets, (*PATH, "taints", place, "targets"))
