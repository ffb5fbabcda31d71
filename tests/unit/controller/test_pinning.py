"""A pause pins everything of an application but the way back."""

from dataclasses import replace
from datetime import UTC, datetime

from volary.controller import pinning, standings, wants
from volary.engine import plan, state
from volary.model import stage
from volary.model.status import RunStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAUSE = state.Pause("ana", NOW, "on television")
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())
RUN = plan.new_run("r1", plan.Plan("shop", "new", plan.one_group(("us",)), (SYNC,)), NOW)


def want(kind: wants.Kind) -> wants.Want:
    return wants.Want("w1", "new", kind, "because", NOW)


def test_a_paused_application_or_run_is_pinned_and_says_by_whom() -> None:
    paused = standings.Standing(pause=PAUSE)
    assert pinning.why(paused, None) == "the application is paused by ana: on television"
    assert pinning.why(standings.Standing(), None) == ""
    assert pinning.why(standings.Standing(), RUN) == ""
    run = replace(RUN, pause=PAUSE)
    assert pinning.why(standings.Standing(), run) == "run r1 is paused by ana: on television"
    assert pinning.why(standings.Standing(), replace(run, status=RunStatus.CANCELLED)) == ""


def test_what_its_file_holds_back_is_pinned_until_it_does_not() -> None:
    held = standings.Standing(held="policy.yaml:6: PropagationPolicy web is suspended")

    assert pinning.why(held, None) == (
        "the application is held back in Git: policy.yaml:6: PropagationPolicy web is suspended"
    )
    assert standings.from_document(standings.to_document(held)) == held


def test_every_kind_of_want_waits_but_the_way_back() -> None:
    for kind in wants.Kind:
        paused = standings.Standing(want=want(kind), pause=PAUSE)
        assert bool(pinning.of_want(paused)) is (kind is not wants.Kind.ROLLBACK), kind
