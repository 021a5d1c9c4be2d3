"""What Feedweir gives today, recorded: feeds, deliveries, explanations, the HTTP schema, help texts, a data directory.

The tests here compare with what lies in `recorded/`. Only `python -m tests.golden.record` writes there, and only when
somebody decided that another result is right.
"""
