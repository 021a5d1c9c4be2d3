"""Fetching politely: one request, the hosts, the addresses, and the loop over due sources."""
