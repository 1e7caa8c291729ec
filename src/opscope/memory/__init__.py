"""What is in memory when each node runs, since when, until when, and why."""
