"""The algebra as frozen nodes: built from statements, walked, explained."""
