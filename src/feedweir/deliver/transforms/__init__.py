"""XSLT stylesheets: applied to what is delivered and to virtual feeds that become sources."""
