"""What Volary says of itself while it works: spans of traces, and what a log line is about.

Words: a *span* is a piece of work with a beginning and an end, in a *trace*; *log fields* say what
the lines of a log are about. Both follow the task that does the work, so nothing is handed through.
Imports nothing of Volary. Start reading at `spans`.
"""
