"""Where files are kept: on a disk, or in a store of objects, behind the same few operations."""

from feedweir.storage.object_path import ObjectPath, StoreAddress
from feedweir.storage.place import (
    Place,
    below,
    is_store,
    listed,
    local,
    on_disk,
    options_of,
    own_place,
    place_of,
    places_in,
    put_absent,
    remove_tree,
    replacing,
)

__all__ = [
    "ObjectPath",
    "Place",
    "StoreAddress",
    "below",
    "is_store",
    "listed",
    "local",
    "on_disk",
    "options_of",
    "own_place",
    "place_of",
    "places_in",
    "put_absent",
    "remove_tree",
    "replacing",
]
