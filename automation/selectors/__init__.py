"""Reading the fleet and its automation configuration."""
