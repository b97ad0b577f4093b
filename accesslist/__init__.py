"""Identity and access: organizations, projects, users, roles, API keys and access lists."""
