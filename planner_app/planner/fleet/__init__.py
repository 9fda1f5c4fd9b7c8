"""Questions that are answered on other machines: what they have, and what training takes there."""
