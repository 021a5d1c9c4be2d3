"""From the definitions in the catalog to the compiled set in force, and the plans by which sources are matched."""
