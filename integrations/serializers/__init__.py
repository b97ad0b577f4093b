"""Documents of integrations and of discovery."""
