"""From bytes to items: encodings, XML, JSON, HTML, in a process that may crash without harm."""
