"""What follows from reports and from what was known before: events that the platform derives. Pure."""
