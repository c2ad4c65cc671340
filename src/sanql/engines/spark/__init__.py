"""The engine on a cluster: Spark schedules, its executors run the kernel over buckets of units."""
