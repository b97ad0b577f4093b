"""MongoDB: standalone servers, replica sets and sharded clusters, each found from a connection string."""
