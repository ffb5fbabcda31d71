"""What every test may use."""

pytest_plugins = ("living_cluster", "sandbox_fixtures", "strict_tests")
