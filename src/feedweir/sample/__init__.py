"""A sample to begin with: a small origin that plays invented feeds, and statements about them."""
