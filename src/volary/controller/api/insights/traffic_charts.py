"""How a run moved traffic, from the events that say so. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from volary.controller.api import analysis_representations
from volary.model import json
from volary.model.runs import run_records
from volary.store import records

#: What the chart is made of.
EVENT = "task-traffic"
#: Samples of an answer: the first ones show how it began, the newest how it stands.
_MOST, _FIRST = 5_000, 1_000


def chart(run_id: str, events: Iterable[records.FeedEvent]) -> analysis_representations.RunTraffic:
    """Return how traffic moved, from a run's events in the order they were kept.

    What clusters report at about the same time may be kept in another order than it happened, as
    it comes on several ways; what one cluster reports is kept in order.
    """
    kept = [_sample(event.record) for event in events if event.record.event == EVENT]
    now = {sample.cluster: sample for sample in kept}
    samples = sorted(kept, key=lambda sample: sample.at)
    shown = _shortened(samples)
    return analysis_representations.RunTraffic(
        run_id,
        tuple(shown),
        tuple(now[cluster] for cluster in sorted(now)),
        omitted=len(samples) - len(shown),
    )


def _shortened(
    samples: Sequence[analysis_representations.WeightSample],
) -> Sequence[analysis_representations.WeightSample]:
    if len(samples) <= _MOST:
        return samples
    return (*samples[:_FIRST], *samples[-(_MOST - _FIRST) :])


def _sample(record: run_records.EventRecord) -> analysis_representations.WeightSample:
    wanted, observed = (
        _weights(record.document, key) for key in ("wantedWeights", "observedWeights")
    )
    return analysis_representations.WeightSample(
        record.at, record.target, record.stage, wanted, observed
    )


def _weights(document: json.JsonObject, key: str) -> dict[str, int]:
    weights = document.get(key)
    if not isinstance(weights, Mapping):
        return {}
    return {str(name): share for name, share in weights.items() if isinstance(share, int)}
