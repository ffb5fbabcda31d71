"""What is stored about an application, and the pure rules over it.

Words: a *run request* is a run that is asked for and has not begun; an *origin* says why a run
exists and what it is pinned to; *release coverage* says which clusters hold the last completed
release; *admission* says whether a run may begin. Pure: no store, no clock. May import no other
part of the controller. Start reading at `application_statuses`.
"""
