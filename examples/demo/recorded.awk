# SPDX-License-Identifier: MIT
# recorded.awk - lines of a plan (jobs.sh) from those of a recorded workload
#
# Reads name,time,application,num_replicas,batch_size. Variables: limits (see
# workload.sh), traces (folder of measured times), compressed (arrivals),
# scale (training), seconds (of one GPU, and half of it for each GPU asked for).

BEGIN {
	count = split(limits, word, " ")
	for (i = 1; i < count; i += 5) {
		base[word[i]] = word[i + 1]
		most[word[i]] = word[i + 2]
		least_gpu[word[i]] = word[i + 3]
		most_gpu[word[i]] = word[i + 4]
	}
}

function fail(sentence) {
	print "demo: " sentence >"/dev/stderr"
	failed = 1
	exit 1
}

# Samples that one GPU takes in a second, in passes of at most `batch`.
function rate(app, batch,    file, line, field, best) {
	file = traces "/" app "/placements.csv"
	while ((getline line < file) > 0)
		if (split(line, field, ",") > 2 && field[1] == "1" &&
		    (!best || field[2] <= batch))
			best = field[2] / field[3]
	close(file)
	if (!best)
		fail("no times of one GPU in " file)
	return best
}

NR == 1 {
	if ($0 !~ /^name,time,application,num_replicas,batch_size/)
		fail("a workload begins with " \
			"name,time,application,num_replicas,batch_size")
	next
}
!($3 in base) {
	fail("no limits are known of application '" $3 "'")
}
{
	if (NR == 2)
		first = $2
	# Between the pace at the batch the job was tuned for and at its user's.
	work = sqrt(rate($3, base[$3]) * rate($3, $5 / $4))
	work *= scale * seconds * (1 + $4 / 2)
	samples = 4096
	epochs = int(work / samples) + 1
	if (epochs < 4) {
		samples = int(work / 4) + 1
		epochs = 4
	}
	# A recommender's samples are small and many.
	size = $3 == "ncf" ? " --features=4 --hidden=4" : ""
	printf "%d|%s|elastic|max=16|--batch=%d --max-batch=%d " \
		"--min-gpu-batch=%d --max-gpu-batch=%d --samples=%d " \
		"--epochs=%d --seed=%d --emulate-traces=%s/%s " \
		"--time-scale=%g%s\n", ($2 - first) / compressed, $1, \
		base[$3], most[$3], least_gpu[$3], most_gpu[$3], samples, \
		epochs, NR, traces, $3, scale, size
}
END {
	if (!failed && NR < 2)
		fail("the workload has no jobs")
	exit failed
}
