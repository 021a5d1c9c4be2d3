"""From the web to the landing log: fetching, parsing, refresh decisions, discovery."""
