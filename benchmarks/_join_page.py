"""The page of `joins`: figures 8 to 16 and table 3 with what was published of them beside what was measured here.

The published lines exist as images only; what the text of the publication says of them stands under each figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._plot import line_plot
from benchmarks._prospective_page import _STYLE, Row, _figure, _said, _table

_WAYS = {
    "shared": "shared_ms",
    "without views": "without_views_ms",
    "sequential, compiled": "sequential_compiled_ms",
    "sequential, in Python": "sequential_ms",
}
_FIGURES = {
    "8": ("Figure 8: number of queries, two-level schema", "queries", "{} queries"),
    "9": ("Figure 9: number of leaves, two-level schema", "leaves", "two-level, {} leaves"),
    "10": ("Figure 10: Zipf parameter, two-level schema", "Zipf parameter + 1", "two-level, Zipf {}"),
    "11": ("Figure 11: number of queries, three-level schema", "queries", "{} queries"),
    "12": ("Figure 12: most value joins of a query, three-level schema", "value joins", "{} value joins"),
    "13": ("Figure 13: Zipf parameter, three-level schema", "Zipf parameter + 1", "three-level, Zipf {}"),
}
_PUBLISHED = {
    "8": "more than 100 × over sequential with many queries, little difference with few",
    "9": "about 6 times the time at 12 leaves as at 4, for both",
    "10": "ours hardly changes; sequential falls by half from 0.0 to 1.6",
    "11": "100 × over sequential at 100,000 queries; both grow more than linearly",
    "12": "ours grows faster than sequential, with the templates: 2, 6, 20, 39",
    "13": "a larger effect on sequential than on ours",
}


def page(result: Mapping[str, Any]) -> str:
    figures = result["figures"]
    parts = [
        "<h1>Massively multi-query joins: published and ours</h1>",
        "<p>Published: queries as SQL on Microsoft SQL Server 2005, a dual core of 3.6 GHz. Ours: one thread here, CPU "
        "milliseconds for the join of two documents. Sequential evaluation is compiled like the shared one; in plain "
        "Python it is measured on a sample.</p>",
        _table(
            "Table 3: possible templates, by value joins (flat; any schema)", _possible(result["templates"])
        ),
        *(part for number in _FIGURES for part in _technical(number, figures)),
        *_views(figures),
        *_stream(result["stream"]),
        _table("Templates of the three-level schema", _templates(result["templates"])),
        "<p>The publication counts a template and its mirror image as one. Here left and right are told apart, since "
        "the left side is joined by way of history and the right one by way of the batch: that is the number in "
        "brackets, 7, 27 and 63 for at most 3, 4 and 5 value joins where 6, 20 and 39 were published. Counted as "
        "published, what is left of the difference is the draw: which rare shapes a thousand queries happen to have."
        "</p>",
    ]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Multi-query joins</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )


def _possible(templates: Mapping[str, Any]) -> list[Row]:
    return [
        (f"{count}, {kind}", row["published"], row["ours"])
        for count, kinds in templates["possible"].items()
        for kind, row in kinds.items()
    ]


def _templates(templates: Mapping[str, Any]) -> list[Row]:
    rows = {**templates["three_level_1000_queries"]}
    rows |= {name: row for name, row in templates.items() if name.startswith("three_level_1")}
    return [
        (name.replace("_", " "), row["published"], f"{row['ours']} ({row['left_and_right_apart']})")
        for name, row in rows.items()
        if "left_and_right_apart" in row
    ]


def _technical(number: str, figures: Sequence[Mapping[str, Any]]) -> list[str]:
    title, axis, _ = _FIGURES[number]
    rows = [row for row in figures if number in row["figure"].replace(" ", "").split(",")]
    shift = 1 if "Zipf" in axis else 0
    lines = {
        name: [(_at(row["setting"], shift), max(float(row[way]), 1e-4)) for row in rows]
        for name, way in _WAYS.items()
        if name != "without views"
    }
    gains: list[Row] = [
        (
            f"{row['setting']}: compiled sequential over shared; in Python",
            "",
            f"{row['speedup_compiled']} ×; {row['speedup']} ×",
        )
        for row in rows
    ]
    return [_figure(title, line_plot(lines, axis, "ms")), _said([("all", _PUBLISHED[number], ""), *gains])]


def _at(setting: str, shift: int) -> float:
    return shift + next(float(word) for word in setting.replace(",", "").split() if word[:1].isdigit())


def _views(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    rows: list[Row] = [
        (
            f"figure {row['figure'].split(',')[1].strip()}, {row['setting']}: gain by shared views",
            "large",
            row["view_gain"],
        )
        for row in figures
        if "," in row["figure"]
    ]
    return ["<h2>Figures 14 and 15: views</h2>", _said(rows)]


def _stream(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    line = {"shared": [(float(row["queries"]), float(row["items_per_s"])) for row in rows]}
    return [
        _figure("Figure 16: items a second of a stream of feed items", line_plot(line, "queries", "items/s")),
        _said([("all", "flat from 10,000 queries on: later ones are duplicates", "")]),
    ]
