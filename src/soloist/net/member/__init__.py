"""Who belongs to the cluster: how it begins, and where its fences do."""
