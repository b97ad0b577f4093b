"""What happened: event types, the event log, the signal outbox, and their API."""
