"""Everything that writes alerting; each in one transaction with its events."""
