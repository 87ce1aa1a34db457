# SPDX-License-Identifier: MIT
# owners.awk - print every GPU that two running jobs hold
#
# Reads `scontrol --details show job`: of each running job lines such as
#      Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)

# "n[1,3-4]" into list[1..]; a list without brackets as it is.
function expand_nodes(text, list,    n, i, parts, prefix, inside, digits) {
	n = 0
	while (match(text, /^[^,\[]+(\[[^\]]*\])?/)) {
		parts = substr(text, 1, RLENGTH)
		text = substr(text, RLENGTH + 2)
		i = index(parts, "[")
		if (!i) {
			list[++n] = parts
			continue
		}
		prefix = substr(parts, 1, i - 1)
		inside = substr(parts, i + 1, length(parts) - i - 1)
		delete digits
		for (i = expand_range(inside, digits); i > 0; i--)
			list[++n] = prefix digits[i]
	}
	return n
}

# "0,2-3" into list[1..]
function expand_range(text, list,    n, k, count, parts, ends, i) {
	n = 0
	count = split(text, parts, ",")
	for (k = 1; k <= count; k++) {
		if (split(parts[k], ends, "-") < 2)
			ends[2] = ends[1]
		for (i = ends[1] + 0; i <= ends[2] + 0; i++)
			list[++n] = i
	}
	return n
}

/^JobId=/ {
	job = substr($1, 7)
	running = 0
}
/JobState=/ {
	running = /JobState=(RUNNING|SUSPENDED)/
}
running && /^ *Nodes=.* GRES=.*gpu/ {
	nodes = $1
	sub(/^Nodes=/, "", nodes)
	delete names
	count = expand_nodes(nodes, names)
	text = $0
	while (match(text, /IDX:[0-9,-]+/)) {
		delete devices
		held = expand_range(substr(text, RSTART + 4, RLENGTH - 4), \
			devices)
		text = substr(text, RSTART + RLENGTH)
		for (i = 1; i <= count; i++)
			for (d = 1; d <= held; d++)
				claim(names[i], devices[d])
	}
}

function claim(node, device,    key) {
	key = node " GPU " device
	if (key in owner && owner[key] != job)
		print key " belongs to jobs " owner[key] " and " job
	owner[key] = job
}
