"""prosec: a static compiler from OpenProse workflows to standalone, readable Python."""

__version__ = "0.1.0"
