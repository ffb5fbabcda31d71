"""The settings file of `volary server`, kind `Controller`.

`settings_sections` are the fields, `settings_files.parse` reads them; `notification_routes`
knows the events that are sent. May import `config.placement`, `config.fleet` and what is below
them. Start at `settings_files.parse`.
"""
