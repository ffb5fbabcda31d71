"""What each of several teams may do on a server that they share. Pure.

A *project* says it (`model.projects`). *Membership*: whose an application is, by where its file
is. *Restrictions*: what of an application its project does not permit. May import `config.text`,
`manifests` and `model`. Start with `membership`.
"""
