#!/usr/bin/env bash
# openai_client.py with the environment that tools/setup.sh --clients makes; 77 (skipped) without it.
# usage: openai_client.sh TPRUN MODEL
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$root/build/clients/bin/python
if ! "$python" -c 'import openai' 2>/dev/null; then
  echo "skipped: no openai client; tools/setup.sh --clients installs it"
  exit 77
fi
exec "$python" "$root/tests/serve/openai_client.py" "$@"
