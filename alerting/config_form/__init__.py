"""Alert configurations as an operator types them: what a form asks, and the API's document it becomes."""
