"""Times that come again: cron's five fields and iCalendar's recurrence rules.

Pure; all times are local to a named zone. May import nothing of Volary. Start reading at
`cron`.
"""
