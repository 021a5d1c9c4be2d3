"""The page of `prospective`: every table and figure with what was published of it beside what was measured here.

The bars and lines of the published figures exist as images only; what the text of the publication says of them stands
in the table under each figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from benchmarks._plot import bar_plot, line_plot

Row = tuple[str, object, object]
PHASES = ("matching", "testing")
PUBLISHED_43 = {
    "bloom filter": (3_069_916, 9_239_690, 130_691_462),
    "random": (957_366, 6_089_165, 8_870_966),
    "alphabetical": (948_417, 5_784_684, 7_670_446),
    "overlap": (939_779, 5_522_510, 6_543_883),
}
PUBLISHED_44 = {
    32: (13.71, 1.34, 939_779, 5_522_510, 6_543_883),
    64: (12.96, 1.63, 900_359, 5_400_181, 3_527_224),
    96: (12.82, 1.79, 890_258, 5_356_174, 2_597_491),
    128: (12.70, 1.98, 886_101, 5_334_635, 2_145_484),
}
_BEST, _OURS = "best partitions", "shared (ours)"
_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:56em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:.6em 0}th,td{padding:.15em .8em;border-bottom:1px solid #ddd}"
    "th{font-weight:600;text-align:right}th:first-child,td:first-child{text-align:left}td{text-align:right}"
    "h2{margin-top:2em;font-size:1.15em}figure{margin:.5em 0;max-width:54em}p{margin:.4em 0}"
    "tbody th{text-align:left;padding-top:.7em}"
)


def page(result: Mapping[str, Any]) -> str:
    parts = [
        "<h1>Prospective search: published and ours</h1>",
        "<p>Published: 10,000 web pages of 2001 on a Pentium 4 of 3 GHz. Ours: one thread here, generated queries and "
        "documents like the published ones, CPU seconds scaled to 10,000 documents.</p>",
        _table("Scale of this run", result["scale"]),
        _table("Table 3.1: queries, documents and look-ups", result["table_3_1"]),
        *_sizes(result),
        *_selectivity(result),
        *_partitions(result["figure_3_7"]),
        _table("Table 4.1: queries contained in other queries", result["table_4_1"]),
        *_containment(result["figure_4_1"]),
        _table("Table 4.2: the combined set", result["table_4_2"]),
        *_clusters(result),
        *_throughput(result["figure_4_5"]),
    ]
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Prospective search</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )


def _sizes(result: Mapping[str, Any]) -> list[str]:
    bars, lines = result["figure_3_3"], result["figure_3_4"]
    at_one = {name: points[0][1] for name, points in lines.items()}
    at_most = {name: points[-1][1] for name, points in lines.items()}
    postings = result["table_3_1"][4][2] * 10_000
    growth = (at_most[_BEST] / at_one[_BEST]) / (lines[_BEST][-1][0] / lines[_BEST][0][0])
    return [
        _figure(
            "Figure 3.3: running times, matching and testing",
            bar_plot(bars, "seconds for 10,000 documents, by number of queries", PHASES),
        ),
        _said(
            [
                ("best method, 1.08 million queries, s", "less than 20", at_one[_BEST]),
                (
                    "postings per second of it",
                    "about 100 million",
                    f"{postings / at_one[_BEST] / 1e6:.0f} million",
                ),
                ("best over primitive, largest set", "5 to 10", _times(at_most["primitive"], at_most[_BEST])),
                ("ours over primitive, largest set", "–", _times(at_most["primitive"], at_most[_OURS])),
            ]
        ),
        _figure(
            "Figure 3.4: running times by number of queries",
            line_plot(lines, "queries", "seconds for 10,000 documents"),
        ),
        _said([("growth of the best method over that of the queries", "1 (linear)", round(growth, 2))]),
        _figure(
            "Figure 3.5: documents per second",
            line_plot(result["figure_3_5"], "queries", "documents per second"),
        ),
        _said(
            [
                (
                    "best method, 1.08 million queries",
                    "more than 500 (10,000 in less than 20 s)",
                    result["figure_3_5"][_BEST][0][1],
                ),
                ("ours", "–", result["figure_3_5"][_OURS][0][1]),
            ]
        ),
    ]


def _selectivity(result: Mapping[str, Any]) -> list[str]:
    bars = result["figure_3_6"]
    few, *_, many = bars.values()
    return [
        _figure(
            "Figure 3.6: running times by selectivity of the queries",
            bar_plot(bars, "seconds for 10,000 documents, by fifth of the queries", PHASES),
        ),
        _said(
            [
                (
                    "the fifth with most matches",
                    "more costly",
                    _times(sum(many["bloom filter"]), sum(few["bloom filter"])),
                ),
                (
                    "partitions of so few queries",
                    "no benefit",
                    _times(sum(many["bloom filter"]), sum(many["2 partitions"])),
                ),
            ]
        ),
    ]


def _partitions(rows: Sequence[Sequence[float]]) -> list[str]:
    lines = {
        "one index": [(n, whole) for n, _, whole, _ in rows],
        "best partitions": [(n, best) for n, _, _, best in rows],
    }
    _, count, whole, best = rows[-1]
    return [
        _figure(
            "Figure 3.7: benefit of partitions", line_plot(lines, "queries", "seconds for 10,000 documents")
        ),
        _said(
            [
                ("gain for the largest set", "about 4 (512 KB of L2)", _times(whole, best)),
                ("partitions that were best for it", "not given", int(count)),
            ]
        ),
    ]


def _containment(points: Sequence[tuple[float, float]]) -> list[str]:
    at = dict(points)
    return [
        _figure(
            "Figure 4.1: partial containment",
            line_plot(
                {"ours": points, "published (text)": [(1, 95), (50, 65), (100, 25)]},
                "percent of a query's terms that the most similar query has, at least",
                "percent of 1,000 queries",
                is_log=False,
            ),
        ),
        _said(
            [
                ("no term in common with any other, %", 5, round(100 - at[1], 1)),
                ("at least half of the terms in another, %", "around 65", at[50]),
                ("fully contained in another, %", "around 25", at[100]),
            ]
        ),
    ]


def _clusters(result: Mapping[str, Any]) -> list[str]:
    bars = next(iter(result["figure_4_3"].values()))
    total = {name: sum(pair) for name, pair in bars.items()}
    postings, accumulators = (
        {name: rows[place] for name, rows in result["table_4_3"].items()} for place in (1, 2)
    )
    fifths = list(result["figure_4_4"].values())
    return [
        _figure(
            "Figure 4.3: clusterings on the combined set",
            bar_plot(result["figure_4_3"], "seconds for 10,000 documents", PHASES),
        ),
        _said(
            [
                ("overlap, s (table 4.4; three million queries)", 15.05, round(total["overlap"], 2)),
                (
                    "the most naive clustering",
                    "significant benefit",
                    _times(total["bloom filter"], total["random"]),
                ),
                (
                    "overlap over the best of section 3",
                    "outperforms all",
                    _times(total["bloom filter"], total["overlap"]),
                ),
                ("ours over overlap", "–", _times(total["overlap"], total[_OURS])),
            ]
        ),
        _grouped("Table 4.3: comparison of the clusterings", result["table_4_3"]),
        _said(
            [
                ("postings saved by overlap, %", "about 40", _fewer(postings)),
                ("accumulators saved by overlap", "up to 20 ×", _saved(accumulators)),
            ]
        ),
        _grouped("Table 4.4: superqueries of 32 to 128 terms", result["table_4_4"]),
        _figure(
            "Figure 4.4: clusterings by selectivity of the queries",
            bar_plot(result["figure_4_4"], "seconds for 10,000 documents, by fifth of the queries", PHASES),
        ),
        _said(
            [
                (
                    "the fifth with most matches, overlap",
                    "more costly",
                    _times(sum(fifths[-1]["overlap"]), sum(fifths[0]["overlap"])),
                )
            ]
        ),
    ]


def _fewer(postings: Mapping[str, Row]) -> int:
    return round(100 * (1 - float(str(postings["overlap"][2])) / float(str(postings["bloom filter"][2]))))


def _saved(accumulators: Mapping[str, Row]) -> str:
    return _times(float(str(accumulators["bloom filter"][2])), float(str(accumulators["overlap"][2])))


def _throughput(rates: Mapping[str, Mapping[str, float]]) -> list[str]:
    said = {("overlap", "combined"): "664 (10,000 in 15.05 s)"}
    rows: list[Row] = [
        (f"{name}, {title}", said.get((name, title), "only drawn"), rate)
        for title, group in rates.items()
        for name, rate in group.items()
    ]
    gain = rates["combined"]["overlap"] / rates["combined"]["primitive"]
    return [
        _figure("Figure 4.5: documents per second", _over_methods(rates)),
        _said([*rows, ("all techniques over primitive", "more than 20", f"{gain:.1f} ×")]),
    ]


def _over_methods(rates: Mapping[str, Mapping[str, float]]) -> str:
    """On a logarithmic axis: what lies a hundredfold apart cannot be seen as bars."""
    names = list(rates["Excite"])
    lines = {
        title: [(float(place), group[name]) for place, name in enumerate(names)]
        for title, group in rates.items()
    }
    return line_plot(lines, "", "documents per second", x_names=names)


# Parts


def _times(one: float, other: float) -> str:
    return f"{one / other:.1f} ×"


def _table(title: str, rows: Sequence[Row]) -> str:
    return f"<h2>{escape(title)}</h2>{_rows(rows)}"


def _said(rows: Sequence[Row]) -> str:
    return _rows(rows)


def _grouped(title: str, groups: Mapping[str, Sequence[Row]]) -> str:
    body = "".join(
        f"<tr><th colspan='3'>{escape(name)}</th></tr>{_body(rows)}" for name, rows in groups.items()
    )
    return f"<h2>{escape(title)}</h2><table>{_HEAD}<tbody>{body}</tbody></table>"


_HEAD = "<thead><tr><th></th><th>published</th><th>ours</th></tr></thead>"


def _rows(rows: Sequence[Row]) -> str:
    return f"<table>{_HEAD}<tbody>{_body(rows)}</tbody></table>"


def _body(rows: Sequence[Row]) -> str:
    return "".join(
        f"<tr><td>{escape(name)}</td><td>{_shown(then)}</td><td>{_shown(now)}</td></tr>"
        for name, then, now in rows
    )


def _shown(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"{value:,}"
    return escape(str(value))


def _figure(title: str, svg: str) -> str:
    return f"<h2>{escape(title)}</h2><figure>{svg}</figure>"
