"""Metrics of a stage on one cluster: measured, judged, reported.

An *analysis run* follows the rules of an analysis through time, a *metric check* is one round
of a stage that decides by metrics, a *metric trial* tries rules without a release, *findings*
are the documents of both. The statistics are in `volary.analysis`. Imports `runtime`. Start
reading at `cluster_judges`.
"""
