# SPDX-License-Identifier: MIT
# recorded.awk - lines of a plan (jobs.sh) from those of a recorded workload
#
# Reads name,time,application,num_replicas,batch_size. Variables: limits (see
# workload.sh), traces (folder of measured times), compressed (arrivals),
# scale (training), seconds (of one GPU, and again for each GPU asked for).

BEGIN {
	count = split(limits, word, " ")
	for (i = 1; i < count; i += 5) {
		base[word[i]] = word[i + 1]
		most[word[i]] = word[i + 2]
		least_gpu[word[i]] = word[i + 3]
		most_gpu[word[i]] = word[i + 4]
	}
}

# Samples that one GPU takes in a second, at a batch near the tuned one.
function rate(app,    file, line, field, best, found) {
	file = traces "/" app "/placements.csv"
	best = 0
	while ((getline line < file) > 0) {
		split(line, field, ",")
		if (field[1] != "1" || field[2] > base[app] ||
		    field[2] > most_gpu[app])
			continue
		best = field[2] / field[3]
		found = 1
	}
	close(file)
	if (!found) {
		print "demo: no times for one GPU in " file >"/dev/stderr"
		exit 1
	}
	return best
}

NR == 1 {
	if ($0 !~ /^name,time,application,num_replicas,batch_size/) {
		print "demo: the workload's first line is not " \
			"name,time,application,num_replicas,batch_size" \
			>"/dev/stderr"
		exit 1
	}
	next
}
!($3 in base) {
	print "demo: no limits are known for application " $3 >"/dev/stderr"
	exit 1
}
{
	if (NR == 2)
		first = $2
	samples = 4096
	work = rate($3) * scale * (seconds + seconds * $4 / 2)
	epochs = int(work / samples) + 1
	if (epochs < 4)
		samples = int(work / 4) + 1
	if (epochs < 4)
		epochs = 4
	# A recommender's samples are small and many.
	size = $3 == "ncf" ? "--features=4 --hidden=4" : ""
	printf "%d|%s|elastic|max=16|--batch=%d --max-batch=%d " \
		"--min-gpu-batch=%d --max-gpu-batch=%d --samples=%d " \
		"--epochs=%d --seed=%d --emulate-traces=%s/%s " \
		"--time-scale=%g %s\n", ($2 - first) / compressed, $1, \
		base[$3], most[$3], least_gpu[$3], most_gpu[$3], samples, \
		epochs, NR, traces, $3, scale, size
}
END {
	if (NR < 2)
		exit 1
}
