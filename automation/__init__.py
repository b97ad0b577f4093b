"""The fleet and its desired state: hosts, databases, agents, measurements, reports."""
