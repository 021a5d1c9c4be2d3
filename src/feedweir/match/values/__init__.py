"""Values compared whole: sources, strings, numbers and links, as atoms."""
