"""The command line as it is, for those who write about it: the man page and the shells' completion.

commands = read()           # from the very parsers that read a user's words: never out of date
"""
