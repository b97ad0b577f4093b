"""Routes of integrations and of discovery."""
