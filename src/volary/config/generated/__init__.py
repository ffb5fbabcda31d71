"""What is made from the sections: JSON schemas for editors, and the reference pages of the docs.

May import everything of `config`; nothing of `config` imports it. Start at `reference_pages`.
"""
