"""What an item is: model, identity, text analysis, Arrow columns, the item as tree and as graph."""
