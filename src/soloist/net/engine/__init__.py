"""What runs the algorithms of a node, without sockets: instances of locks, what leaves and when, whose turn it is."""
