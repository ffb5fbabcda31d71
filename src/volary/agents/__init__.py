"""Agents: processes beside clusters that carry out what the controller orders, and not more.

Words: an *order* says what an agent is to do, signed by the controller; a *bundle* is all that it
needs for that, sealed for the agent alone.
"""
