"""From what waits to what was sent: parcels, retries, and the sender."""
