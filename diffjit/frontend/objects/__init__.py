"""Objects and containers: attributes, lists, dicts, and iteration."""
