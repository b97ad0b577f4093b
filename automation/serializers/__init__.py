"""The documents of the fleet in the API, a module per noun."""
