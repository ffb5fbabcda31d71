"""What every test may use."""

pytest_plugins = (
    "sandbox_fixtures",
    "strict_tests",
    "cluster_fixtures",
    "loop_watch",
    "file_order",
    "engine_fixtures",
)
