"""Graph patterns ⇄ text: triples in brackets, property paths, and SPARQL's form."""
