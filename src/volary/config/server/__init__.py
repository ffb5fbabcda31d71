"""The settings file of `volary server`, kind `Controller`.

`settings_files` has the fields and reads them; `notification_routes` knows the events that are
sent. May import `config.placement`, `config.fleet` and what is below
them. Start at `settings_files.parse`.
"""
