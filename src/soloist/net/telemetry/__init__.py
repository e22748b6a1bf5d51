"""What a node shows of itself: metrics, spans, traces."""
