"""Everything people can see and ask for, without HTTP.

Words: a *representation* is a frozen value ready to be written as JSON; *conversions* make them
of what is stored; the *command client* stores what somebody asks for, the *command handler*
carries it out in the leader. Reading works in every process. May import every other part of the
controller but its composition. Start reading at `service`.
"""
