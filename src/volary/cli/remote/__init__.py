"""Commands against a server: its address and login, requests, queries, and what answers look like.

May import `cli.run` (to show a run) and `cli.local`. Start with `queries`; `client` does all
requests.
"""

from volary.http_client import system_certificates

system_certificates.read_late()
