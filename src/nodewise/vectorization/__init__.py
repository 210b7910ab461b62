"""What compilers say of the loops of a file."""
