"""The exercises: for each a text, the file to start from, and what it is judged by. Solutions are not part of the package."""
