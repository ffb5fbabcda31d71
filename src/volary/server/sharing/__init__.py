"""What the servers of one database share besides what is in it anyway.

Start reading at `server_registry`: who is there.
"""
