"""Programs as users write them, on which every mode of the engine is tested."""
