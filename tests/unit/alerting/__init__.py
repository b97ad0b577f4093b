"""Pure parts of alerting, tested without a database."""
