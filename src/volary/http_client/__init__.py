"""What any package may use to ask HTTP servers.

An answer is read up to a limit; what a server says about coming back is read in one way
(`answers`). What an address really leads to is in `embedded_addresses`; `system_certificates` has
those of the system read only where somebody is verified by them.

Imports nothing of Volary. Start reading at `answers`.
"""
