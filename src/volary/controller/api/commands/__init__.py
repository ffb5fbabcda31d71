"""What people ask for: stored by the client, carried out by the leader, and noted in the audit.

Words: a *request* is what somebody asked for, with a key under which it is carried out once. May
import the representations and conversions beside the package. Start reading at `command_handler`.
"""
