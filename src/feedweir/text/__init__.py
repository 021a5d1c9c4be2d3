"""Text as feeds contain it: words, dates, HTML, regular expressions."""
