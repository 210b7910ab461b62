"""What compilers say of the loops of a file: each with its causes in plain words, and what to change."""
