"""The policy file of an agent, kind `AgentPolicy`: what the owner of a cluster permits.

Start reading at `policy_files`.
"""
