"""What any package may use to wait for several things.

A *race* ends with the first of two; a *single flight* does once what several ask for at a time.
Imports nothing of Volary. Start reading at `races`.
"""
