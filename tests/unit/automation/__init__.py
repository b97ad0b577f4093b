"""Pure parts of automation, tested without a database."""
