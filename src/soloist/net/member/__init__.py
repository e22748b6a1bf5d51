"""Who belongs to the cluster: how it begins, how it goes from view to view, and what proves that somebody has gone."""
