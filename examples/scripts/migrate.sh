# The script's own environment: SR_* says which release this is, SCHEMA comes from the file.
set -eu
echo "schema $SCHEMA goes $1 for $SR_APPLICATION_NAME at $SR_TRIGGERED_COMMIT_HASH"
