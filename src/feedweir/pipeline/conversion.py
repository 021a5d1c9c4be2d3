"""Logs of older versions in the form of today: elements, annotations and constructed documents are Parquet files."""

from __future__ import annotations

from dataclasses import replace

from feedweir.logs.batches import Manifest
from feedweir.logs.store import Store
from feedweir.pipeline.charge import Charge
from feedweir.pipeline.element_runs import write_merged

_OLDER = ".arrow"


def convert_older(store: Store, charge: Charge | None = None) -> int:
    """Write what lies in files of an older form anew, batch by batch; returns how many batches there were.

    A batch of which anything is damaged is left as it is until it was repaired.
    """
    converted = 0
    for manifest in store.manifests():
        if _is_older(manifest) and not store.check(manifest):
            if charge:
                charge.check()
            _convert(store, manifest)
            converted += 1
    return converted


def _is_older(manifest: Manifest) -> bool:
    names = (*manifest.element_files, *manifest.annotation_files, *manifest.made_files)
    return any(name.endswith(_OLDER) for name in names)


def _convert(store: Store, manifest: Manifest) -> None:
    name = f"{manifest.upto:012d}-{f'since-{manifest.after:012d}' if manifest.batches > 1 else 'converted'}"
    one_file = (f"{name}.parquet",)
    converted = replace(
        manifest,
        element_files=write_merged(store, name, store.element_runs([manifest])),
        annotation_files=one_file if manifest.annotation_files else (),
        made_files=one_file if manifest.made_files else (),
    )
    if converted.annotation_files:
        store.joined.write_annotations(one_file[0], store.joined.annotation_table([manifest]))
    if converted.made_files:
        store.joined.write_made(one_file[0], store.joined.made_table([manifest]))
    store.rewrite(manifest, converted)
