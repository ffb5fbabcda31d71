"""Conversations with the table: who comes, what they wait for, who is ended."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.server.connections import bounds, connection_table
from volary.server.connections.connection_table import Ended, Phase, Service

A, B, C = "203.0.113.1", "203.0.113.2", "203.0.113.3"
LIMITS = bounds.Bounds(connections=6, each=4, each_here=5, proxies=("10.0.0.0/8",))


class Talk:
    """A table of connections that are called by numbers, and a clock."""

    def __init__(self, limits: bounds.Bounds = LIMITS) -> None:
        self.table = connection_table.ConnectionTable[int](limits)
        self.now = 0.0
        self.last = 0

    def comes(self, address: str) -> connection_table.Admission[int]:
        """The next number connects, a second after what was before."""
        self.now += 1
        self.last += 1
        return self.table.admit(self.last, address, Phase.HEAD, self.now)

    def come(self, count: int, address: str, phase: Phase = Phase.HEAD) -> list[int]:
        """Several connect, without anybody being ended for them."""
        numbers = []
        for _ in range(count):
            admission = self.comes(address)
            assert admission == connection_table.Admission(Service.ALL)
            self.table.move(self.last, phase, self.now)
            numbers.append(self.last)
        return numbers


def test_the_one_that_waits_longest_is_ended_for_the_next_of_its_address() -> None:
    talk = Talk()
    first, *_ = talk.come(4, A)
    assert talk.comes(A) == connection_table.Admission(
        Service.ALL, Ended(first, Phase.HEAD), "address"
    )
    assert len(talk.table) == 4


def test_a_full_server_ends_one_of_whoever_has_most() -> None:
    talk = Talk()
    alone = talk.come(1, B)
    oldest, *_ = talk.come(4, A)
    talk.come(1, C)
    admission = talk.comes(C)

    assert admission.evicted == Ended(oldest, Phase.HEAD)
    assert admission.reason == "total"
    assert alone[0] in set(talk.table)


def test_what_is_answered_is_not_ended() -> None:
    talk = Talk()
    answered = talk.come(3, A, Phase.ANSWER)
    waiting = talk.come(1, A)
    assert talk.comes(A).evicted == Ended(waiting[0], Phase.HEAD)
    assert set(answered) <= set(talk.table)


def test_bodies_under_way_are_ended_after_everything_else_that_waits() -> None:
    talk = Talk()
    body, *_ = talk.come(1, A, Phase.BODY)
    stalled, *_ = talk.come(1, A, Phase.STALLED)
    idle, *_ = talk.come(1, A, Phase.IDLE)
    talk.come(1, A, Phase.ANSWER)
    ended = []
    for _ in range(3):
        admission = talk.comes(A)
        assert admission.evicted
        ended.append(admission.evicted.connection)
        talk.table.move(talk.last, Phase.ANSWER, talk.now)

    assert ended == [idle, stalled, body]


def test_when_all_are_answered_a_few_more_are_asked_about_health_alone() -> None:
    talk = Talk()
    talk.come(4, A, Phase.ANSWER)
    reserve = [talk.comes(A) for _ in range(bounds.RESERVE_EACH)]
    assert {each.service for each in reserve} == {Service.HEALTH}
    assert not any(each.evicted for each in reserve)

    # The reserve is nobody's for long, either.
    fifth = talk.comes(A)
    assert (fifth.service, fifth.evicted) == (Service.HEALTH, Ended(5, Phase.HEAD))

    # Other addresses are served as ever.
    assert talk.comes(B) == connection_table.Admission(Service.ALL)


def test_only_when_the_reserve_is_answered_too_nothing_is_left() -> None:
    talk = Talk()
    talk.come(4, A, Phase.ANSWER)
    for _ in range(bounds.RESERVE_EACH):
        talk.comes(A)
        talk.table.move(talk.last, Phase.ANSWER, talk.now)
    before = set(talk.table)

    assert talk.comes(A) == connection_table.Admission(Service.NONE, None, "address")
    assert set(talk.table) == before


def test_the_reserve_of_all_is_taken_from_whoever_has_most_of_it() -> None:
    talk = Talk()
    talk.come(4, A, Phase.ANSWER)
    talk.come(2, B, Phase.ANSWER)
    attackers = [f"198.51.100.{each}" for each in range(bounds.RESERVE // bounds.RESERVE_EACH)]
    for each in attackers:
        for _ in range(bounds.RESERVE_EACH):
            assert talk.comes(each).service is Service.HEALTH
    admission = talk.comes(C)

    assert admission.service is Service.HEALTH
    assert admission.evicted == Ended(7, Phase.HEAD)


def test_a_proxy_may_have_all() -> None:
    talk = Talk()
    talk.come(6, "10.0.0.1")
    assert talk.comes("10.0.0.1").reason == "total"


@pytest.mark.parametrize(
    ("phase", "seconds"),
    [
        (Phase.HANDSHAKE, 10),
        (Phase.HEAD, 10),
        (Phase.BODY, 20),
        (Phase.IDLE, 75),
        (Phase.STALLED, 45),
        (Phase.CLOSING, 5),
    ],
)
def test_every_wait_for_the_other_side_ends(phase: Phase, seconds: float) -> None:
    talk = Talk()
    talk.table.admit(1, A, Phase.ANSWER, 0)
    talk.table.move(1, phase, 100)

    assert talk.table.overdue(100 + seconds - 0.5) == []
    assert talk.table.overdue(100 + seconds) == [Ended(1, phase)]
    assert len(talk.table) == 0


def test_single_bytes_do_not_make_a_head_young() -> None:
    talk = Talk()
    (slow,) = talk.come(1, A)
    for second in range(1, 10):
        talk.table.move(slow, Phase.HEAD, talk.now + second)

    assert talk.table.overdue(talk.now + 10) == [Ended(slow, Phase.HEAD)]


def test_an_answer_may_take_as_long_as_it_takes() -> None:
    talk = Talk()
    talk.come(1, A, Phase.ANSWER)
    assert talk.table.overdue(1e9) == []


def test_the_weakest_is_one_of_whoever_has_most_and_waits() -> None:
    talk = Talk()
    assert talk.table.weakest() is None
    talk.come(1, B)
    talk.come(2, A, Phase.ANSWER)
    assert talk.table.weakest() == Ended(1, Phase.HEAD)
    assert talk.table.weakest() is None


class Model:
    """What a table should know, beside the table."""

    def __init__(self) -> None:
        self.table = connection_table.ConnectionTable[int](LIMITS)
        self.known: dict[int, tuple[str, Phase]] = {}

    def comes(self, number: int, phase: Phase, now: int) -> None:
        address = f"203.0.113.{number % 4}"
        mine = [each for each in self.known.values() if each[0] == address]
        admission = self.table.admit(now, address, phase, now)
        if admission.evicted is not None:
            self.ends(admission.evicted)
        if admission.service is Service.NONE:
            assert all(each[1] is Phase.ANSWER for each in mine)
        else:
            self.known[now] = (address, phase)

    def moves(self, number: int, phase: Phase, now: int) -> None:
        for chosen in self._chosen(number):
            self.table.move(chosen, phase, now)
            self.known[chosen] = (self.known[chosen][0], phase)

    def goes(self, number: int, _: Phase, __: int) -> None:
        for chosen in self._chosen(number):
            self.table.remove(chosen)
            del self.known[chosen]

    def takes_too_long(self, _: int, __: Phase, now: int) -> None:
        for ended in self.table.overdue(now):
            self.ends(ended)

    def makes_room(self, *_: object) -> None:
        ended = self.table.weakest()
        if ended is not None:
            self.ends(ended)

    def ends(self, ended: Ended[int]) -> None:
        assert self.known.pop(ended.connection)[1] is ended.phase is not Phase.ANSWER

    def _chosen(self, number: int) -> list[int]:
        return [sorted(self.known)[number % len(self.known)]] if self.known else []

    def check(self) -> None:
        assert set(self.table) == set(self.known)
        assert len(self.known) <= LIMITS.connections + bounds.RESERVE
        by_address = Counter(address for address, _ in self.known.values())
        assert all(held <= LIMITS.each + bounds.RESERVE_EACH for held in by_address.values())


STEPS = st.tuples(
    st.sampled_from([Model.comes, Model.moves, Model.goes, Model.takes_too_long, Model.makes_room]),
    st.integers(0, 11),
    st.sampled_from(list(Phase)),
)


@given(st.lists(STEPS, max_size=120))
def test_no_order_of_things_exceeds_a_limit_or_loses_one(
    steps: list[tuple[Callable[[Model, int, Phase, int], None], int, Phase]],
) -> None:
    """Also: while one waits nobody is refused, and when all have gone nothing is remembered."""
    model = Model()
    for now, (step, number, phase) in enumerate(steps):
        step(model, number, phase, now)
        model.check()
    for connection in list(model.known):
        model.table.remove(connection)
    admission = model.table.admit(-1, A, Phase.HEAD, 1e6)
    assert admission == connection_table.Admission(Service.ALL)
