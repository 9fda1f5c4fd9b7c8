"""A description of the command line, for the man page and the shell completions.

commands = read()           # from the parsers themselves: never out of date
"""
