"""Event types, the event log, the signal outbox, and their API."""
