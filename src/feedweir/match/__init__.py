"""Which queries an item satisfies: meaning, compilation, kernels, explanation."""
