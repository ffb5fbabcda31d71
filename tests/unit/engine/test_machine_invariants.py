"""No sequence of events, in whatever order people and clusters send them, breaks the rules."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize

import machine_laws
from machine_play import BEGINNING, GROUPS, STAGES, THOROUGH, WINDOWS
from volary.engine import plan, rules


class AnyConversation(machine_laws.LawfulRun):
    """A run whose clusters move together."""

    @initialize(
        groups=st.sampled_from(GROUPS),
        on_failure=st.sampled_from(rules.OnFailure),
        on_unreachable=st.sampled_from(rules.OnUnreachable),
        timeout=st.sampled_from((timedelta(minutes=15), timedelta(hours=6))),
        windows=st.sampled_from(WINDOWS),
    )
    def planned(self, groups, on_failure, on_unreachable, timeout, windows) -> None:
        policy = rules.Policy(
            on_failure=on_failure,
            on_unreachable=on_unreachable,
            timeout=timeout,
            grace=timedelta(minutes=2),
        )
        made = plan.Plan("shop", "new", groups, STAGES, "old", policy, windows=windows)
        self.run = plan.new_run("run-1", made, BEGINNING)


AnyConversation.TestCase.settings = THOROUGH
TestAnyConversation = AnyConversation.TestCase
