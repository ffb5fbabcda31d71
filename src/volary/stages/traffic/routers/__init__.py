"""How traffic is divided between variants, one file for each router.

A router is pure: it chooses the objects that carry the routes, says what they should look like,
and reads the weights back from what is live. Imports `traffic.division` and `traffic.weights`
only. Add a router: a file with a `router.Router`, a line in the table of `registry`, what it can
do in `config.application.routing`, and what ``trafficRouting.create`` makes in
`manifests.routes.generated_routes`. Start reading at `router`.
"""
