"""A run as JSON documents, and each step of it as the record that a store keeps.

May import every other package of the engine except `engine.execution`. Start reading at
`codec`.
"""
