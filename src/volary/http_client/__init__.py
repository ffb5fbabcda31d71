"""What any package may use to receive the answers of HTTP servers.

An answer is read up to a limit; what a server says about coming back is read in one way.
Imports nothing of Volary. Start reading at `answers`.
"""
