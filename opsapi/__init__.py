"""The platform: settings, identifiers, roles, redaction, encryption, and the API's conventions."""

VERSION = "0.1.0"
