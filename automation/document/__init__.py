"""The automation document: read, checked, completed, compared. Pure."""
