# SPDX-License-Identifier: MIT
# gpu_owners.awk - "scontrol -d show job": every GPU that two jobs hold
#
# Prints a line for each; exit code 1 if there is any.

/^JobId=/ {
	job = substr($1, 7)
	live = 0
}
/JobState=(RUNNING|SUSPENDED|COMPLETING)/ { live = 1 }
live && /^ *Nodes=.* GRES=gpu/ {
	split($1, node, "=")
	match($0, /IDX:[0-9,-]+/)
	devices = substr($0, RSTART + 4, RLENGTH - 4)
	count = split(devices, ranges, ",")
	for (i = 1; i <= count; i++) {
		n = split(ranges[i], ends, "-")
		last = n == 2 ? ends[2] : ends[1]
		for (gpu = ends[1] + 0; gpu <= last; gpu++)
			claim(node[2], gpu)
	}
}
END { exit found }

function claim(name, gpu,    key) {
	key = name " GPU " gpu
	if (key in owner && owner[key] != job) {
		printf "%s belongs to jobs %s and %s\n", key, owner[key], job
		found = 1
	}
	owner[key] = job
}
