"""One installation composed: statements carried out, the daemon, and what doors need of both."""
