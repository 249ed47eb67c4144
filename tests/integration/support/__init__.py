"""What the integration tests share: a server of their own, a client, a cluster, faults."""
