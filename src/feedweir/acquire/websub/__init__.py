"""WebSub as a subscriber: hubs that push, and the leases that they grant."""
