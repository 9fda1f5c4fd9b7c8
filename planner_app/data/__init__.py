"""Files that ship with the package: devices, compiler targets, Keras' names, the plan schema, guide and demo model."""

from pathlib import Path

FOLDER = Path(__file__).parent
