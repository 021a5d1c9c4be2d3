"""What an item is: its fields, its identity, its Arrow columns, the item as an XML tree and as RDF triples."""
