"""Objects and containers: attributes, lists, dicts, strings, and iteration."""
