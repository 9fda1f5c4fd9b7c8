"""The page a boss signs: one set of values, drawn as HTML and as PDF."""
