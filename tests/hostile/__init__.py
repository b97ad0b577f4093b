"""What nobody means well: any values, requests made to break things, octets on the real server's sockets."""
