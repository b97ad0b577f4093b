"""Identity and access as the API shows and takes them."""
