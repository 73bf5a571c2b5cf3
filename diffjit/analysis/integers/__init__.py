"""Facts about integers: bounds of indices, lengths, counters, and which elements two indices select."""
