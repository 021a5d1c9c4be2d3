"""RSS, RDF and Atom: elements, what each of them means, and documents that are not well-formed."""
