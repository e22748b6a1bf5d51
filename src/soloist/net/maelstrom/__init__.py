"""A node that Maelstrom can test: JSON lines on standard input and output, and nothing else."""
