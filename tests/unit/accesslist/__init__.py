"""Pure parts of accesslist, tested without a database."""
