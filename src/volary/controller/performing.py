"""A run under way with everything that keeps what it does."""

from dataclasses import dataclass

from volary.controller import (
    announcing,
    casebook,
    driving,
    journal,
    logbook,
    masked,
    recollection,
    releases,
)
from volary.engine import local
from volary.store import records


@dataclass(frozen=True, slots=True)
class Carried:
    """A run under way."""

    runner: local.Runner
    log: logbook.Logbook
    cases: casebook.Casebook


def carry(
    tenure: driving.Driving,
    known: records.ApplicationRecord,
    release: releases.Release,
    version: int,
) -> Carried:
    """Return what carries a release out, and keeps each step from the stored `version` on."""
    log = logbook.Logbook(tenure.store, fence=tenure.fence)
    cases = casebook.Casebook(tenure.store, fence=tenure.fence)
    release.performer.keeper = recollection.StoreKeeper(tenure.store, tenure.fence)
    told = announcing.observer(tenure.notifier, release, known)
    keeper = journal.StoreJournal(
        tenure.store,
        release.run,
        version,
        fence=tenure.fence,
        masker=release.masker,
        kept=tenure.pulse.beat,
    )
    runner = local.Runner(
        release.run,
        release.performer,
        clock=tenure.desk.clock,
        keeper=keeper,
        observers=(masked.Masked(release.masker, (log, cases, told)),),
    )
    return Carried(runner, log, cases)
