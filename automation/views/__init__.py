"""Routes of the fleet, a file per noun."""
