"""What ``volary watch --follow`` writes between two runs."""

import io
import itertools

from rich import console

from volary.cli.remote import drift_watch
from volary.cli.remote.drift_watch import Known


def test_drift_appears_is_repaired_and_gone_each_told_once() -> None:
    drifted = Known({"us": "Deployment web/shop: spec.replicas is 5"})
    states = [
        Known(),
        drifted,
        Known(drifted.clusters, unrepaired="us: paused by ana"),
        Known({**drifted.clusters, "eu": "ConfigMap web/shop is missing"}, repair="r2"),
        Known({"eu": "ConfigMap web/shop is missing"}),
        Known(),
    ]

    told = [list(drift_watch.lines(before, now)) for before, now in itertools.pairwise(states)]

    assert told == [
        ["us: out of sync: Deployment web/shop: spec.replicas is 5"],
        ["not repaired: us: paused by ana"],
        ["eu: out of sync: ConfigMap web/shop is missing", "repair: run r2"],
        ["us: in sync"],
        ["eu: in sync"],
    ]


def test_a_name_cannot_steer_the_terminal() -> None:
    change = {"clusters": [{"name": "us", "reason": "a\x1b[2Jb"}], "unrepaired": "", "repair": ""}

    assert "\x1b" not in drift_watch.read(change).clusters["us"]


def test_a_screen_shows_some_and_counts_the_others() -> None:
    shown = io.StringIO()
    terminal = console.Console(file=shown, width=60)

    terminal.print(drift_watch.draw("shop", Known({f"c{one}": "why" for one in range(10)})))
    terminal.print(drift_watch.draw("shop", Known()))

    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    assert lines[:2] == ["shop: out of sync in 10 clusters", "  ≠ c0: why"]
    assert lines[9:] == [
        "  … and 2 more",
        "type volary diff shop; Ctrl-C ends",
        "shop: in sync",
        "Ctrl-C ends",
    ]
