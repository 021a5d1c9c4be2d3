"""Who feeds whom: views at sites, which of them can serve which, and the plan that costs least within their bounds."""
