"""The shapes that algorithms run on: trees now; quorums, rings and graphs as they are needed."""
