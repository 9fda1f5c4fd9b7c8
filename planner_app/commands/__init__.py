"""The commands, one module each: `add` declares the arguments, `run` does the work and returns the exit code."""
