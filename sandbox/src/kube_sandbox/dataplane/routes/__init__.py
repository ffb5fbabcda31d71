"""What objects of routers say about requests to a host; pure.

`route_rules` are the rules they are all turned into; one module per kind of router reads its
objects; `lookup` asks them in turn; `matching` applies rules to a request.
"""
