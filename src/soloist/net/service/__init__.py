"""A node as a daemon, and the programs that use one."""
