"""The job on Spark under kill -9: nothing lost, nothing twice."""
