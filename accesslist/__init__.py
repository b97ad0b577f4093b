"""Who may do what, from where: organizations, projects, users, roles, API keys, access lists."""
