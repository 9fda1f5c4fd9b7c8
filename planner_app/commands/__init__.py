"""The commands, one module each: `add` declares it, `run` does it and returns the exit code."""
