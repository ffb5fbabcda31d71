"""Orders in which other systems update clusters, as waves of our own.

KubeFleet's staged updates, Open Cluster Management's rollout strategies and the RollingSync steps
of Argo CD's ApplicationSets are read by ``volary convert``; they are not read in an application's
directory. Start reading at `plans`.
"""
