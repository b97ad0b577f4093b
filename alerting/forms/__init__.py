"""Console forms of alerting, a module per resource."""
