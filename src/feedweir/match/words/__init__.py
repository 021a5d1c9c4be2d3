"""The words of queries and items: where they are looked for, their dictionaries, how often they are met."""
