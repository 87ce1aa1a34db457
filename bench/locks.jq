# SPDX-License-Identifier: MIT
# Histograms of the metrics file, as the benchmarks print them.

def ms: . * 1e5 | round / 100;

# Of "le" -> how many, the bound in ms below which so much of them is.
def bound(q): . as $b | ($b["+Inf"] // 0) as $n |
	[ $b | to_entries[] | select(.key != "+Inf") |
		{ le: (.key | tonumber), n: .value } ] | sort_by(.le) |
	(map(select(.n >= $n * q))[0].le // null) |
	if . then ms else "over" end;

# Buckets of several, as if they were one.
def add_up: reduce .[] as $b ({}; reduce ($b | to_entries[]) as $e (.;
	.[$e.key] = (.[$e.key] // 0) + $e.value));

# Who takes a lock only to look.
def reads: ["look", "ahead", "judge", "doubt", "room"];
