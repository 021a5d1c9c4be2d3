"""Where files are kept, behind one small interface."""

from feedweir.storage.seam import Storage, Stored

__all__ = ["Storage", "Stored"]
