"""What a batch brought of vocabularies becomes part of their definitions, and so a new version of the set.

If a crash happens between this and the batch's commit, it is done again and changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from feedweir.acquire.parse.rdf_vocabulary import taxonomy_lines
from feedweir.catalog import Catalog, Definition
from feedweir.items.schema import items_of
from feedweir.items.triples import triples_of
from feedweir.language.defined_names import registered_by
from feedweir.logs.batches import Manifest
from feedweir.logs.store import Store
from feedweir.plan.vocabularies import VOCABULARY
from feedweir.service.execution.feed_changes import source_of


def take_vocabularies(catalog: Catalog, store: Store, manifest: Manifest, now: datetime) -> None:
    """Have vocabularies say what their newest documents say."""
    concerned = [name for name, report in manifest.sources.items() if report.items or report.revisions]
    if not concerned:
        return
    for definition in catalog.feeds.beginning(VOCABULARY):
        if definition.name in concerned:
            _take(catalog, store, manifest, now, definition)


def _take(catalog: Catalog, store: Store, manifest: Manifest, now: datetime, definition: Definition) -> None:
    newest = store.seqs_in(manifest, definition.id).tolist()[-1:]
    lines = [line for item in items_of(store.items(newest)) for line in taxonomy_lines(triples_of(item))]
    before = registered_by(definition.statement)
    after = replace(before, saying="\n".join(lines))
    if lines and after != before:
        catalog.feeds.replace(source_of(after, now))
