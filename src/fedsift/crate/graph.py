"""The graph of a crate's metadata, over the library that knows the vocabulary."""

import json
from collections.abc import Sequence
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

__all__ = ["Entity", "Graph"]

VERSION = "1.1"
"""Of RO-Crate: what version 0.5 of the Workflow Run profiles stands on."""


class Graph:
    """Entities in the order in which they are added."""

    def __init__(self) -> None:
        self.crate = ROCrate(gen_preview=False, version=VERSION)

    @property
    def root(self) -> Entity:
        """The crate itself."""
        return self.crate.root_dataset

    def add(self, identifier: str, type_: str | Sequence[str], **properties: object) -> Entity:
        """An entity that is no file of the crate; properties that are None or empty are left out."""
        kept = {name: value for name, value in properties.items() if value not in (None, "", [])}
        return self.crate.add(ContextEntity(self.crate, identifier, {"@type": type_, **kept}))

    def add_file(self, place: str, **properties: object) -> Entity:
        """A file of the crate."""
        return self.crate.add_file(dest_path=place, properties=properties)

    def add_folder(self, place: str, **properties: object) -> Entity:
        """A folder of the crate."""
        return self.crate.add_dataset(dest_path=place, properties=properties)

    def text(self) -> str:
        """The metadata; equal graphs give equal text."""
        made: dict[str, Any] = self.crate.metadata.generate()
        made["@graph"] = [{key: _single(value) for key, value in entity.items()} for entity in made["@graph"]]
        return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _single(value: Any) -> Any:
    """A list of one as its one value, which is how the specification wants it."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
