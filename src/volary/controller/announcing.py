"""What the notifier is told about an application: its runs, and what happens before one.

Texts are cleaned here or come cleaned: a notification leaves the house.
"""

from datetime import datetime

from volary.controller import releases, standings, wants
from volary.engine import feed
from volary.manifests import masking
from volary.model import status as words
from volary.notifying import notices, notifier
from volary.store import records

_Event = notices.Event


def observer(
    to: notifier.Notifier, release: releases.Release, known: records.ApplicationRecord
) -> feed.Observer:
    """Return the observer of a run; it has to be given masked events."""
    return to.observer(_subject(release, known))


def planned(
    to: notifier.Notifier,
    release: releases.Release,
    known: records.ApplicationRecord,
    at: datetime,
) -> None:
    """Tell that a run is going to begin, and why by this strategy."""
    reason = release.masker.clean(release.origin.summary)
    to.announce(_Event.DEPLOYMENT_PLANNED, _subject(release, known), at, reason)


def triggered(
    to: notifier.Notifier,
    want: wants.Want,
    known: records.ApplicationRecord,
    at: datetime,
    masker: masking.Masker,
) -> None:
    """Tell that a run is wanted, and why."""
    reason = masker.clean(want.reason)
    to.announce(_Event.DEPLOYMENT_TRIGGERED, _wanted(want, known, masker), at, reason)


def refused(
    to: notifier.Notifier,
    want: wants.Want,
    known: records.ApplicationRecord,
    at: datetime,
    masker: masking.Masker,
    reason: str,
) -> None:
    """Tell that a want became no run; `reason` has to be clean."""
    to.announce(_Event.DEPLOYMENT_TRIGGER_FAILED, _wanted(want, known, masker), at, reason)


def settled(
    to: notifier.Notifier,
    want: wants.Want,
    known: records.ApplicationRecord,
    at: datetime,
    masker: masking.Masker,
    reason: str,
) -> None:
    """Edit the messages about a want that leads to no run of its own; nobody is told anew."""
    progress = notices.Progress(words.RunStatus.CANCELLED, masker.clean(reason))
    subject = _wanted(want, known, masker)
    to.update(notices.Notice(_Event.DEPLOYMENT_CANCELLED, at, subject, progress))


def _subject(release: releases.Release, known: records.ApplicationRecord) -> notices.Subject:
    run, origin = release.run, release.origin
    standing = standings.from_document(known.document)
    return notices.Subject(
        application=known.name,
        run=run.id,
        labels=known.labels,
        commit=run.commit,
        title=release.masker.clean(origin.subject),
        by=origin.by,
        targets=run.targets,
        mentions=standing.mentions,
        alerts=standing.alerts,
    )


def _wanted(
    want: wants.Want, known: records.ApplicationRecord, masker: masking.Masker
) -> notices.Subject:
    standing = standings.from_document(known.document)
    return notices.Subject(
        application=known.name,
        # What is wanted becomes the run of this id, so its message is edited from here on.
        run=want.id,
        labels=known.labels,
        commit=want.commit,
        # No title: the manifests' Secrets, which it may quote, are not known yet.
        by=masker.clean(want.by),
        mentions=standing.mentions,
        alerts=standing.alerts,
    )
