# SPDX-License-Identifier: MIT
# opened_twice.awk - GPUs that two jobs could open at the same time
#
# Lines "TIME JOB NODE NAME GPUS", sorted by time. A job whose NAME is "rigid"
# has its GPUs from its first line to its last; who else opens one of them in
# between is printed.

$5 != "-" {
	for (i = 1; i <= length($5); i++) {
		gpu = $3 " " substr($5, i, 1)
		if ($4 == "rigid") {
			if (!((gpu, $2) in first)) {
				first[gpu, $2] = $1
				of[gpu] = of[gpu] " " $2
			}
			last[gpu, $2] = $1
		}
		count++
		opened[count] = gpu
		when[count] = $1
		who[count] = $2
	}
}

END {
	for (i = 1; i <= count; i++) {
		n = split(of[opened[i]], rigid, " ")
		for (r = 1; r <= n; r++) {
			job = rigid[r]
			if (job != who[i] &&
			    when[i] > first[opened[i], job] &&
			    when[i] < last[opened[i], job])
				print when[i], "job", who[i], "opened", \
					opened[i], "of job", job
		}
	}
}
