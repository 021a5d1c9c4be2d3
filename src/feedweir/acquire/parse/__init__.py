"""From bytes to items: encodings, XML, JSON, HTML, and a process of its own for what could go wrong."""
