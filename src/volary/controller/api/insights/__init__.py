"""Runs as figures: charts, comparisons, the figures of delivery, and closed windows.

Everything but `insight_service`, which reads the store, is pure. May import the representations
and conversions beside it, and what they may. Start reading at `insight_service`.
"""
