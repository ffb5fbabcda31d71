"""The choke point for secrets: every event passes here before anybody sees it."""

from collections.abc import Sequence
from dataclasses import fields, replace

from volary.engine import feed
from volary.manifests import masking


class Masked:
    """Gives events on to observers, without secret values in their texts."""

    def __init__(self, masker: masking.Masker, observers: Sequence[feed.Observer]) -> None:
        self._masker = masker
        self._observers = tuple(observers)

    def notify(self, event: feed.RunEvent) -> None:
        """Clean the event and give it on."""
        clean = self._clean(event)
        for observer in self._observers:
            observer.notify(clean)

    def _clean(self, event: feed.RunEvent) -> feed.RunEvent:
        changed: dict[str, object] = {}
        for each in fields(event):
            value = getattr(event, each.name)
            if isinstance(value, str):
                cleaned: object = self._masker.clean(str(value))
            elif isinstance(value, tuple):
                cleaned = tuple(
                    self._masker.clean(part) if type(part) is str else part for part in value
                )
            else:
                continue
            if cleaned != value:
                changed[each.name] = cleaned
        return replace(event, **changed) if changed else event  # type: ignore[arg-type]
