"""The kinds of runs, a file for each: release, rollback, move, backfill.

Each file says how a run of its kind is prepared from a run request, and what its beginning and
its end mean for the application's status. Only preparing reads anything; the rest is pure. May
import `planning`, `status` and `persistence`. Start reading at `releases`.
"""
