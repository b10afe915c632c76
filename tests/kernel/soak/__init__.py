"""What disturbs the daemon in soak_test.py, and what judges it."""
