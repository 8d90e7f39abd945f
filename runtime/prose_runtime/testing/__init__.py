"""A Messages API on the loopback interface, for tests and benchmarks: real HTTP, no model, no key."""
