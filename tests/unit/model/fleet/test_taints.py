"""Which tolerations are about which taints: Kubernetes' table."""

import pytest

from volary.model.fleet import taints

EXISTS, EQUAL = taints.TolerationOperator.EXISTS, taints.TolerationOperator.EQUAL
STAY, LEAVE = taints.Effect.NO_SCHEDULE, taints.Effect.NO_EXECUTE
GPU = taints.Taint("example.com/gpu", "a100", STAY)


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        (taints.Toleration("example.com/gpu", EQUAL, "a100", STAY), True),
        (taints.Toleration("example.com/gpu", EQUAL, "a100"), True),
        (taints.Toleration("example.com/gpu", EQUAL, "h100"), False),
        (taints.Toleration("example.com/gpu", EQUAL), False),
        (taints.Toleration("example.com/gpu", EQUAL, "a100", LEAVE), False),
        (taints.Toleration("example.com/gpu", EXISTS), True),
        (taints.Toleration("example.com/gpu", EXISTS, effect=LEAVE), False),
        (taints.Toleration("example.com/tpu", EXISTS), False),
        (taints.Toleration("", EXISTS), True),
        (taints.Toleration("", EXISTS, effect=LEAVE), False),
        (taints.Toleration("", EQUAL), False),
    ],
)
def test_a_toleration_is_about_a_taint(toleration: taints.Toleration, holds: bool) -> None:
    assert taints.tolerates(toleration, GPU) is holds


def test_a_taint_without_a_value_is_tolerated_by_equal_without_one() -> None:
    plain = taints.Taint("maintenance")

    assert taints.tolerates(taints.Toleration("maintenance"), plain)
    assert not taints.tolerates(taints.Toleration("maintenance", value="x"), plain)


def test_what_no_toleration_is_about_stays() -> None:
    other = taints.Taint("maintenance", effect=LEAVE)

    left = taints.untolerated((GPU, other), [taints.Toleration("example.com/gpu", EXISTS)])

    assert left == (other,)


def test_of_one_key_and_effect_the_first_stays() -> None:
    newer = taints.Taint("example.com/gpu", "h100", STAY)
    harder = taints.Taint("example.com/gpu", "a100", LEAVE)

    assert taints.merge((newer,), (GPU, harder)) == (newer, harder)


def test_a_mark_is_told_as_kubectl_writes_it_with_who_made_it() -> None:
    cordon = taints.Taint(taints.CORDONED, by="ana", reason="Kubernetes 1.36")

    assert taints.title(cordon) == "volary.dev/cordoned:NoSchedule (ana: Kubernetes 1.36)"
    assert taints.title(GPU) == "example.com/gpu=a100:NoSchedule"


def test_people_hear_the_deed_and_who_did_it_why() -> None:
    cordon = taints.Taint(taints.CORDONED, by="ana", reason="Kubernetes 1.36")
    drain = taints.Taint(taints.DRAINED, effect=LEAVE, by="ana", reason="Kubernetes 1.36")
    lost = taints.Taint(taints.UNREACHABLE, by=taints.BY_RULE, reason="no answer in time")

    assert taints.explain([cordon]) == "cordoned by ana: Kubernetes 1.36"
    assert taints.explain([cordon, drain, lost]) == (
        "drained by ana: Kubernetes 1.36; unreachable: no answer in time"
    )
    assert taints.explain([GPU]) == "tainted example.com/gpu=a100:NoSchedule"
