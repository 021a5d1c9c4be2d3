"""When to poll a source again: pure decisions on values, with no clock and no network in reach."""
