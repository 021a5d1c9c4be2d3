"""All tree patterns of all queries, matched together against batches of XML documents.

`compile_trees(patterns)` gives a `TreeSet`; `TreeSet.matches(document)` says which patterns a document has,
`TreeSet.matches_of(documents)` which each of many has, and `TreeSet.witnesses(documents)` how: which nodes the
variables bind, and their string values.
"""

from feedweir.match.trees.documents.document import DocumentTree, TreeBounds, parse_tree, tree_of
from feedweir.match.trees.patterns.pattern_steps import fits
from feedweir.match.trees.patterns.xpath import xpath_of
from feedweir.match.trees.tree_set import TreeMatches, TreeSet, compile_trees
from feedweir.match.trees.witnesses import Witnesses

__all__ = [
    "DocumentTree",
    "TreeBounds",
    "TreeMatches",
    "TreeSet",
    "Witnesses",
    "compile_trees",
    "fits",
    "parse_tree",
    "tree_of",
    "xpath_of",
]
