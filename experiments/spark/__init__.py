"""The job on Spark under kill -9: nothing lost, nothing twice."""

CLUSTER = "local-cluster[2,1,1024]"  # two executors of one core and 1 GB, each its own process
LOCAL = "local[2,4]"  # everything in one process but Python; a task may fail four times
