# Two hosts on one machine, for examples and tests to source: network namespaces $host_a and $host_b, joined by a veth pair, with
# host names of their own (hosta 10.77.0.1, hostb 10.77.0.2), each with a container bridge that has the same address on both and
# leads nowhere. `on_host_a COMMAND…` runs a command on the first; $launch_agent stands in the place of ssh to the second.
# Takes $work, a directory. Ends the script with 77 where namespaces cannot be made; needs root and iproute2.
host_a=tpa$$ host_b=tpb$$
remove_hosts() {
  ip netns del "$host_a" 2>"$work/end"
  ip netns del "$host_b" 2>"$work/end"
}
skip_hosts() {
  echo "skipped: $*"
  exit 77
}

command -v ip >"$work/why" || skip_hosts "no ip command (Debian: iproute2)"
ip netns add "$host_a" 2>"$work/why" || skip_hosts "no network namespaces here: $(cat "$work/why")"
trap 'remove_hosts; rm -rf "$work"' EXIT
ip netns add "$host_b"
ip link add va$$ netns "$host_a" type veth peer name vb$$ netns "$host_b" 2>"$work/why" || skip_hosts "no veth pair: $(cat "$work/why")"
for host in a b; do
  namespace=host_$host
  address=10.77.0.$([ $host = a ] && echo 1 || echo 2)
  ip -n "${!namespace}" link set lo up
  ip -n "${!namespace}" addr add "$address/24" dev v$host$$
  ip -n "${!namespace}" link set v$host$$ up
  ip -n "${!namespace}" link add docker0 type bridge 2>"$work/why" && ip -n "${!namespace}" addr add 172.17.0.1/16 dev docker0 &&
    ip -n "${!namespace}" link set docker0 up
done

on_host_a() {
  ip netns exec "$host_a" unshare -u sh -c 'hostname hosta; exec "$@"' sh "$@"
}
# Called as ssh is: HOST COMMAND…
launch_agent=$work/agent
printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c "hostname hostb; $*"\n' "$host_b" >"$launch_agent"
chmod +x "$launch_agent"
