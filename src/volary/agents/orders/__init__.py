"""Keys and what is signed and sealed with them. Pure.

Start reading at `keys`.
"""
