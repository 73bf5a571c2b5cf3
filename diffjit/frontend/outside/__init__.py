"""What Python or C does for a program: functions without source, streams of random numbers, surroundings."""
