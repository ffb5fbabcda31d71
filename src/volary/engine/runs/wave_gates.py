"""Where a wave ends, and which clusters do not have its release yet. Pure."""

from volary.engine.runs import counters, state

#: Clusters that one cluster is compared with at most; every one of them is asked at each look.
_MOST_COMPARED = 10


def positions(run: state.Run) -> frozenset[int]:
    """Return which steps are the end of the current wave: from the proof of its health on."""
    wave, first = run.stages[run.position].wave, -1
    gate_positions = set()
    for position, stage_state in enumerate(run.stages):
        if not wave or stage_state.wave != wave:
            continue
        if stage_state.stage.kind.proves_wave:
            first = stage_state.stage.index
        # Stages that come after the promotion in every wave have a place before the gates.
        if 0 <= first <= stage_state.stage.index:
            gate_positions.add(position)
    return frozenset(gate_positions)


def not_updated(run: state.Run, target: str) -> tuple[str, ...]:
    """Return the clusters without this release that `target` is compared with.

    Those of later waves that are not left out, dealt out among the clusters of the wave, so that
    no two of them are compared with the same one while there are enough; then some share one.
    """
    wave = run.wave_of(target)
    if wave is None:
        return ()
    place = next(number for number, run_wave in enumerate(run.waves) if run_wave is wave)
    without = counters.clusters(run.clusters).left_out
    later = [
        name for wave in run.waves[place + 1 :] for name in wave.targets if name not in without
    ]
    if not later:
        return ()
    mine, all_of_wave = wave.targets.index(target), len(wave.targets)
    if len(later) < all_of_wave:
        return (later[mine % len(later)],)
    return tuple(later[mine::all_of_wave][:_MOST_COMPARED])
