"""The automation document: read, checked, completed, compared (contract 2.14, decisions 9). Pure."""
