"""Long names in little room."""


def short(name: str, most: int) -> str:
    """Without its middle where it is longer: the names of one series of experiments begin alike."""
    if len(name) <= most:
        return name
    last = (most - 1) // 2
    return f"{name[: most - 1 - last]}…{name[-last:]}"
