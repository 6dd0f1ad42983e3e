#!/usr/bin/env bash
# One model on two hosts that Open MPI joins: here network namespaces of one machine, elsewhere real hosts that ssh reaches (then
# without --launch-agent). They must write what one host writes. Needs root; says why it is skipped, with code 77.
#
#   examples/mpi/two_hosts.sh [TPRUN [MODEL]]
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tprun=${1:-$here/../../build/install/bin/tprun}
model=${2:-$here/../tiny}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/two_namespaces.sh"
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

printf '%s\n' '10.77.0.1 slots=1' '10.77.0.2 slots=1' >"$work/hosts"
generate=(generate --model "$model" --prompt "The French Bread Law states" --max-new-tokens 40)
"$tprun" --device cpu --quiet "${generate[@]}" >"$work/one" </dev/null || exit 1
on_host_a timeout 120 "$tprun" --device cpu --quiet --hostfile "$work/hosts" --launch-agent "$launch_agent" \
  --interface 10.77.0.0/24 "${generate[@]}" >"$work/two" </dev/null || exit 1
cmp "$work/one" "$work/two" || exit 1
echo "two hosts wrote: $(cat "$work/two")"
