"""Papers, done again: each module measures what its paper claims, and says claim by claim what held."""
