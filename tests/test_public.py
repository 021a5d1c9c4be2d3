"""The public names: what a program may import from `feedweir` itself."""

import feedweir


def test_the_public_names_are_these() -> None:
    assert sorted(feedweir.__all__) == [
        "CatalogError",
        "CompiledSetError",
        "DeliveryError",
        "DocumentError",
        "Enclosure",
        "FeedweirError",
        "Item",
        "LanguageError",
        "Outcome",
        "SettingsError",
        "StorageError",
        "Weir",
        "__version__",
        "format_statement",
        "parse",
        "parse_search",
    ]


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in feedweir.__all__:
        assert name == "__version__" or getattr(feedweir, name).__doc__
