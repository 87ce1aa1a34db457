# SPDX-License-Identifier: MIT
# judge.awk - BEFORE AFTER ANSWERS: a verdict for each process that answered
#
# ok; keeps-N: it opens what its job does not own; lacks-N: it does not open
# what it should; shares-N-J: job J opens it, too, and it is not this job's
# alone; mem, cpus: its cgroup has more of them than its job; moving: its job
# had another shape before than after, and it opens of these two alone. A look
# takes seconds: who had begun after an answer was given shared nothing then.

function expand(list, set,    parts, ends, i, n, d) {
	split("", set)
	if (list == "-" || list == "")
		return
	n = split(list, parts, ",")
	for (i = 1; i <= n; i++) {
		split(parts[i] "-" parts[i], ends, "-")
		for (d = ends[1]; d <= ends[2]; d++)
			set[d + 0]
	}
}

function remember(file, key) {
	expand($3, set)
	for (d in set)
		owns[file, key, d]
	shown[file, key] = $3
	cpus[file, key] = $4
	memory[file, key] = $5
}

function had(when, key) {
	return (when, key) in shown ? shown[when, key] : "-"
}

FILENAME == ARGV[1] { remember("a", $1 " " $2); next }
FILENAME == ARGV[2] { remember("b", $1 " " $2); next }
{
	line[++lines] = $0
	expand($5, set)
	for (d in set)
		open_by[$3, d] = open_by[$3, d] " " $4
	if (!(($3, $4) in began) || $8 + 0 < began[$3, $4])
		began[$3, $4] = $8 + 0
}

function count(list,    set, d, n) {
	expand(list, set)
	for (d in set)
		n++
	return n + 0
}

function other_job(host, d, job, now,    ids, i, n) {
	n = split(open_by[host, d], ids, " ")
	for (i = 1; i <= n; i++)
		if (ids[i] != job && began[host, ids[i]] <= now + 0)
			return ids[i]
	return 0
}

# A script opens all that its job has there, a rank at least one.
function verdict(who, host, job, key, moved, cores, mib, now,    d, n, other) {
	for (d = 0; d < 4; d++) {
		if (!(d in set) || !(other = other_job(host, d, job, now)))
			continue
		if (!(("b", key, d) in owns) || ("b", other " " host, d) in owns)
			return "shares-" d "-" other
	}
	for (d = 0; d < 4; d++) {
		if ((d in set) && !(("a", key, d) in owns) && !(("b", key, d) in owns))
			return "keeps-" d
		n += d in set
	}
	if (moved)
		return "moving"
	for (d = 0; d < 4; d++) {
		if ((d in set) && !(("b", key, d) in owns))
			return "keeps-" d
		if (who == "batch" && !(d in set) && ("b", key, d) in owns)
			return "lacks-" d
	}
	if (who ~ /^rank/ && !n)
		return "lacks-any"
	if (count(cores) > count(cpus["b", key]))
		return "cpus"
	if (mib + 0 > memory["b", key] + 0 || mib == "-")
		return "mem"
	return "ok"
}

END {
	for (i = 1; i <= lines; i++) {
		split(line[i], f, " ")
		expand(f[5], set)
		key = f[4] " " f[3]
		moved = had("a", key) != had("b", key)
		print look, phase, f[4], f[2], f[3], had("b", key), f[5], \
			f[6] "/" cpus["b", key], f[7] "/" memory["b", key], \
			verdict(f[2], f[3], f[4], key, moved, f[6], f[7], f[9])
	}
}
