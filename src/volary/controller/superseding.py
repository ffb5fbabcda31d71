"""What a newer want does to a run under way: take it back, cancel it, or wait for it. Pure."""

from volary.controller import pinning, standings, wants
from volary.engine import state
from volary.model import controller


def cancels(
    rule: controller.Supersede, standing: standings.Standing, want: wants.Want, run: state.Run
) -> bool:
    """Say whether a run is cancelled for a want, as nothing that serves users was touched yet."""
    return (
        rule is controller.Supersede.CANCEL
        and want.kind is wants.Kind.COMMIT
        and want.commit != run.commit
        and run.ending is None
        and not pinning.why(standing, run)
        and not wants.touches_primary(run)
    )


def why_waiting(
    rule: controller.Supersede, standing: standings.Standing, want: wants.Want, run: state.Run
) -> str:
    """Return why a want does not begin while a run is under way, one sentence."""
    if want.undoes == run.id:
        return f"it takes run {run.id} back, which is being rolled back"
    if cancels(rule, standing, want, run):
        return f"run {run.id} is being cancelled for it"
    return f"run {run.id} has to end first"


def why_cancel(
    rule: controller.Supersede, standing: standings.Standing, want: wants.Want, run: state.Run
) -> str:
    """Return why a run is taken back for a want, one sentence; empty: it goes on."""
    if run.rollback is not None or run.is_final:
        return ""
    short = want.commit[:7]
    if want.undoes == run.id:
        return f"{short} takes it back"
    return f"superseded by {short}" if cancels(rule, standing, want, run) else ""
