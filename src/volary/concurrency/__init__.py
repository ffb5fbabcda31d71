"""What any package may use to wait for several things.

A *race* ends with the first of two; a *single flight* does once what several ask for at a time;
a *fan-out* does the same with many at once; a *background task* ends with what it accompanies.
*Work threads* take what blocks off the loop, for an owner. Imports `model` only. Start reading at
`races`.
"""
