"""All tree patterns of all queries, matched together against one XML document.

`compile_trees(patterns)` gives a `TreeSet`; `TreeSet.matches(document)` says which patterns a document has and
`TreeSet.witnesses(documents)` how: which nodes the variables bind, and their string values.
"""

from feedweir.match.trees.compiled import TreeSet, compile_trees
from feedweir.match.trees.document import DocumentTree, TreeBounds, parse_tree
from feedweir.match.trees.witnesses import Witnesses
from feedweir.match.trees.xpath import xpath_of

__all__ = [
    "DocumentTree",
    "TreeBounds",
    "TreeSet",
    "Witnesses",
    "compile_trees",
    "parse_tree",
    "xpath_of",
]
