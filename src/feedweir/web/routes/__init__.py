"""The routes of the HTTP server, by who uses them."""
