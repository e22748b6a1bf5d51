"""The shapes that algorithms run on: trees, graphs, quorums, coteries, agreements, projective planes and information structures."""
