"""The conventions every route of the API shares."""
