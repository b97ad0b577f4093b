"""Everything that writes identity and access; each in one transaction with its events."""
