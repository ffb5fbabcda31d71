import pytest

from volary.model import server_settings
from volary.server.connections import bounds


@pytest.mark.parametrize(
    ("descriptors", "connections", "each", "here"),
    [
        (65_536, 2000, 200, 1500),
        (1024, 480, 200, 360),
        (256, 96, 48, 72),
        (64, 16, 8, 12),
    ],
)
def test_half_of_the_descriptors_stay_for_everything_else(
    descriptors: int, connections: int, each: int, here: int
) -> None:
    derived = bounds.derive(server_settings.Limits(), descriptors)

    assert derived.connections == connections
    assert derived.of("203.0.113.7") == each
    assert derived.of("127.0.0.1") == derived.of("::1") == here
    assert derived.streams <= connections // 2
    assert derived.streams_of("203.0.113.7") == each // 2


def test_a_proxy_stands_for_many() -> None:
    limits = server_settings.Limits(proxies=("10.0.0.0/8",))
    derived = bounds.derive(limits, 65_536)

    assert derived.of("10.1.1.1") == derived.connections
    assert derived.bodies_of("10.1.1.1") == derived.bodies
    assert derived.of("11.1.1.1") == 200
    assert derived.bodies_of("11.1.1.1") < derived.bodies
