"""The form of an alert configuration: its inputs, and the API document it becomes."""
