"""Whatever is named that there is not: the error proposes what looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedweir.acquire.refresh.controller import rules_of
from feedweir.cli.delivery import _known
from feedweir.config import Settings, load_settings
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.errors import FeedweirError, near
from feedweir.schedules import schedule_from_json
from feedweir.service.composition import delivery_admin
from feedweir.service.installation import Weir
from feedweir.text.placed_words import stems

BEGUN = """
register feed push://post as Concerts;
create feed Water from Concerts;
subscribe to Water as Desk output file 'w.rss';
"""
STATEMENTS = (
    ("create feed F from Concert", "`Concerts`"),
    ("create feed F from Concerts | Watr", "`Water`"),
    ("alter feed Watr for ann", "`Water`"),
    ("drop feed Watr", "`Water`"),
    ("describe Watr", "`Water`"),
    ("subscribe to Watr output file 'a'", "`Water`"),
    ("register feed Watr apply 'Title.xsl' as New", "`Water`"),
    ("explain feed Watr", "`Water`"),
    ("explain plan Concert", "`Concerts`"),
    ("alter subscription Dsk pause", "`Desk`"),
    ("drop subscription Dsk", "`Desk`"),
    ("describe subscription Dsk", "`Desk`"),
    ("subscribe to Water apply 'Titel.xsl' output file 'a'", "`Title"),
    ("subscribe to Water output fiel 'a'", "`file`"),
    ("subscribe to Water outptu file 'a'", "`output`"),
    ("subscribe to Water output mail 'a@b.c' at '08:30' zone 'Europe/Pariss'", "`Europe/Paris`"),
    ("subscribe to Water output mail 'a@b.c' quite '22:00-07:00'", "`quiet`"),
    ("subscribe to Water output mail 'a@b.c' every 3 huors", "`hours`"),
    ("alter subscription Desk no quite", "`quiet`"),
    ("alter feed Concerts no evry", "`every`"),
    ("alter feed Concerts paus", "`pause`"),
    ("show feds", "`feeds`"),
    ("shwo feeds", "`show`"),
    ("drop fed Water", "`feed`"),
    ("create feed F from Concerts wher title = 'x'", "`where`"),
    ("create feed F from Concerts where titel = 'x'", "`title`"),
    ("create feed F from Concerts where title contians 'x'", "`contains`"),
    ("create feed F from Concerts where title matchs /x/", "`matches`"),
    ("create feed F from Concerts where published.yeer = 2020", "`year`"),
    ("create feed F from Concerts where published.weekday = mondey", "`monday`"),
    ("create feed F from Concerts as $main where $mian[title = 'x']", "`$main`"),
    ("create feed F from Concerts where search 'intitel:x'", "`intitle`"),
    (
        "define window Lately as 3 days; from Water join last Latly on Water with [title = window.title]",
        "`Lately`",
    ),
    ("from Water join last 3 days on Water with [title = window.titel]", "`title`"),
    ("from Water join last 3 days on Water with [title similra window.title]", "`similar`"),
    ("from Water join last 3 days on Water whit [title = window.title]", "`with`"),
    ("from Water where graph { (?x, dcc:title, ?y) }", "`dc`"),
)


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    opened = Weir.open(tmp_path)
    opened.execute(BEGUN)
    return opened


@pytest.mark.parametrize(("text", "meant"), STATEMENTS)
def test_a_statement_that_names_what_is_not_there_is_told_what_is_near(
    weir: Weir, text: str, meant: str
) -> None:
    with pytest.raises(FeedweirError) as caught:
        weir.execute(text)
    assert "did you mean" in caught.value.hint
    assert meant in caught.value.hint


def test_everything_else_that_has_a_name_is_told_so_too(weir: Weir, tmp_path: Path) -> None:
    desk = delivery_admin(weir, Settings())
    settings = tmp_path / "feedweir.toml"
    settings.write_text('kernls = "x"')
    asked = {
        "`kernels`": lambda: load_settings(file=settings),
        "`planned`": lambda: rules_of(floor_s=1, interval_s=1, policy="planed"),
        "`Europe/Paris`": lambda: schedule_from_json({"every_s": 60, "zone": "Europe/Pari"}),
        "`every_s`": lambda: schedule_from_json({"evry_s": 60}),
        "`Title`": lambda: Stylesheets().text("Titel.xsl"),
        "`english`": lambda: stems(["word"], "englisch"),
        "`Desk`": lambda: _known(desk, "Dsk"),
        "`Water`": lambda: desk.following("Watr", 0, 10),
    }
    for meant, ask in asked.items():
        with pytest.raises(FeedweirError) as caught:
            ask()
        assert f"did you mean {meant}" in caught.value.hint


def test_what_is_like_nothing_is_told_nothing() -> None:
    assert near("zzz", ("Concerts", "Water")) == ""
    assert near("limit", ("like", "limit")) == ""
