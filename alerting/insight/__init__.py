"""Shows what alerting did and would do. Only the routes and the console import this package."""
