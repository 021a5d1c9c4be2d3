"""The filters of a source evaluated together: what they share, as a tree that is kept up as they change."""
