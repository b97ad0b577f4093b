"""Pure parts of events, tested without a database."""
