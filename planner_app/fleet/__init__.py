"""Work on the nodes of a Ray cluster. Ray decides where it runs; only this room imports it, in a process of its own."""
