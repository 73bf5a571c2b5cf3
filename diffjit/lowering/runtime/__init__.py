"""What generated loops call: intrinsics and small helpers, compiled into the caller."""
