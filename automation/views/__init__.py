"""Views of the fleet, a module per noun."""
