"""What Python callers and the command line ask alike: one module for each question, none of which prints."""
