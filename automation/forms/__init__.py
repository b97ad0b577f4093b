"""Console forms of the fleet, a module per resource."""
