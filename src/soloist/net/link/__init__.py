"""What carries messages between nodes: frames, handshakes, sessions, transports."""
