"""Reports about derivatives: what they record, whether they are right, and how they read."""
