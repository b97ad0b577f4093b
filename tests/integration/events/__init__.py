"""Reading the event log on a database."""
