"""Tools around the product: pages of docs/reference, demonstration data. The product does not import them."""
