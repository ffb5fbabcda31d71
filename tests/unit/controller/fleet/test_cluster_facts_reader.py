"""Who has a turn to be read after a round of probes."""

from datetime import timedelta

import reconciler_fixtures as given
from volary.clusters.observe import cluster_facts
from volary.controller.fleet import cluster_facts_reader
from volary.model.fleet import cluster_health


async def test_a_few_that_answer_have_their_turn_and_none_again_too_soon() -> None:
    async with given.leading() as world:
        register = world.leader.register
        now = register.clock.now()
        reader = cluster_facts_reader.FactsReader(register)
        # None of them is in the fleet: each says so, and nobody else has to be asked.
        names = [f"c{number}" for number in range(10)]
        silent = cluster_health.ClusterHealth("silent")

        def fleet(*, later: timedelta = timedelta()) -> cluster_health.FleetHealth:
            health = [cluster_health.ClusterHealth(name, answers=True) for name in names]
            return cluster_health.FleetHealth(now + later, (silent, *health))

        await reader.look(fleet())
        first = set(register.facts)
        await reader.look(fleet())
        second = set(register.facts)
        known = dict(register.facts)
        await reader.look(fleet(later=timedelta(minutes=9)))
        unchanged = all(register.facts[name] is known[name] for name in names)
        register.facts["c3"] = cluster_facts.ClusterFacts(now - timedelta(hours=1))
        await reader.look(fleet())
        again = [name for name in names if register.facts[name] is not known[name]]
        del names[1:]
        await reader.look(fleet())

    assert first == {f"c{number}" for number in range(8)}
    assert second == {f"c{number}" for number in range(10)}
    assert known["c0"].problem == "cluster c0 is not in the fleet"
    assert unchanged
    assert again == ["c3"]
    # What has left the fleet is forgotten.
    assert list(register.facts) == ["c0"]
