"""Routes of alerting."""
