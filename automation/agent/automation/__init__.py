"""Carries out the automation configuration on the machine of the agent."""
