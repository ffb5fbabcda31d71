"""What a world is made of: a seed draws its size, and what may happen in it.

Most worlds are small, and few kinds of things happen in them, but those often: that finds most
mistakes, at a fraction of the price of a large world, and what many kinds of trouble hide from
one another comes to light. Some worlds are as large as there are, with everything at once.
"""

import random
from dataclasses import dataclass, field, replace

from simulation import people, troubles

APPLICATIONS = ("quick", "gated")
CLUSTERS = ("us", "eu", "asia")
#: The part of the worlds that are large.
_LARGE = 0.025
#: How much more often a kind of trouble happens where there are few kinds,
_MORE = 2.5
#: and how much more of what is said is lost.
_MORE_LOST = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world is made of; by itself the largest one."""

    applications: tuple[str, ...] = APPLICATIONS
    clusters: tuple[str, ...] = CLUSTERS
    rates: troubles.Rates = field(default_factory=troubles.Rates)
    acts: people.Acts = field(default_factory=people.Acts)
    #: Whether the first release is brought out before anything happens.
    begins_well: bool = True
    #: The longest that a question, or an answer, is on its way, in seconds.
    delay: float = 0.05
    #: Steps of the loop after which it is certain that it never becomes quiet.
    most_steps: int = 80_000

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {rate:g}" for name, rate in self.rates.kinds().items() if rate)
        begins = "" if self.begins_well else ", trouble from the beginning"
        return (
            f"{' and '.join(self.applications)} on {', '.join(self.clusters)}{begins};"
            f" {self.rates.seconds:.0f} s of {kinds}; delay {self.delay:g} s"
        )


def draw(seed: int) -> Plan:
    """Return what the world of a seed is made of."""
    lot = random.Random(f"plan of {seed}")
    return Plan() if lot.random() < _LARGE else _small(lot)


def _small(lot: random.Random) -> Plan:
    applications = APPLICATIONS if lot.random() < 0.15 else (lot.choice(APPLICATIONS),)
    number = 2 if lot.random() < 0.3 else 1
    clusters = tuple(sorted(lot.sample(CLUSTERS, number), key=CLUSTERS.index))
    return Plan(
        applications,
        clusters,
        _rates(lot),
        _acts(lot),
        begins_well=lot.random() < 0.5,
        delay=lot.choice((0.05, 0.05, 0.5)),
        most_steps=25_000,
    )


def _rates(lot: random.Random) -> troubles.Rates:
    """Return few kinds of trouble, and each of them more often than in a large world."""
    every = troubles.Rates()
    kinds = lot.sample(troubles.KINDS, lot.randint(1, 4))
    chosen = {
        name: getattr(every, name) * _MORE if name in kinds else 0.0 for name in troubles.KINDS
    }
    more = {**dict.fromkeys(troubles.CHANCES, _MORE), "loss": _MORE_LOST}
    amid = {
        name: getattr(every, name) * more[name] if lot.random() < 0.4 else 0.0
        for name in troubles.CHANCES
    }
    return replace(
        every,
        **chosen,
        **amid,
        person=every.person if lot.random() < 0.8 else 0.0,
        seconds=lot.uniform(20, 60),
        mean=lot.uniform(1.5, 4),
    )


def _acts(lot: random.Random) -> people.Acts:
    """Return some of what people ask for; they approve what waits in every world."""
    every = people.Acts()
    return people.Acts(
        of_run=tuple(act for act in every.of_run if lot.random() < 0.4),
        of_application=tuple(act for act in every.of_application if lot.random() < 0.3),
    )
