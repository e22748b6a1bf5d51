"""The locks of a node for programs that come and go: a URL, and no place in the cluster."""
