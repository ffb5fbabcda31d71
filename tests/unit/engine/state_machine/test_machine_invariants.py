"""No sequence of events, in whatever order people and clusters send them, breaks the rules."""

import machine_invariants
from machine_simulation import THOROUGH


class AnyConversation(machine_invariants.AnyConversation):
    """Tried as often as it takes."""


AnyConversation.TestCase.settings = THOROUGH
TestAnyConversation = AnyConversation.TestCase
