"""What tests of the store share."""

from store_fixtures import (  # noqa: F401 (fixtures are found by name)
    database_address,
    empty_address,
    migrated_database,
    migrated_file,
    postgres,
    store,
    store_address,
    turned_clock,
)
