"""Everything that writes the fleet; each in one transaction with its events."""
