"""Reading alerting."""
