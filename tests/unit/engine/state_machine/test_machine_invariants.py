"""No sequence of events, in whatever order people and clusters send them, breaks the rules."""

import machine_laws
from machine_play import THOROUGH


class AnyConversation(machine_laws.AnyConversation):
    """Tried as often as it takes."""


AnyConversation.TestCase.settings = THOROUGH
TestAnyConversation = AnyConversation.TestCase
