"""Strategy, stages and targets of a run, decided purely."""
