# SPDX-License-Identifier: MIT
# test_shards.t - samples in tar files, each once an epoch, by shard and place,
# through resizes and kills. Without Slurm.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1
python_runs
export PYTHONPATH=$bindings/tests:$PYTHONPATH

# GNU tar has written one of them.
shards_are_there() {
	"$python" "$bindings/tests/sharded.py" --write && mkdir old &&
		tar -C old -xf data-02.tar &&
		tar --sort=name -C old -cf data-02.tar deep && rm -r old &&
		[ "$(cat data-*.tar | wc -c)" -gt 100000 ]
}

tell() {
	pollux-launch --job=sharded "$1"
}

trains_on() {
	tell --status 2>/dev/null | grep "^sharded: $1 rank.* training"
}

kill_rank() {
	local victim
	# Its worker is a child of it, and goes with it.
	victim=$(pgrep -f "^$python $bindings/tests/sharded.py\$" |
		while read -r pid; do
			grep -zq '^OMPI_COMM_WORLD_RANK=1$' \
				"/proc/$pid/environ" && echo "$pid" && break
		done)
	[ -n "$victim" ] && kill -KILL "$victim" &&
		wait_until "grep 'restart 1 of' said.txt" 30
}

# One rank, two, one of them killed, one: then as fast as it can.
trained() {
	pollux-launch --local --name=sharded --params=min=1,max=2 "$python" \
		"$bindings/tests/sharded.py" >said.txt 2>&1 &
	local launcher=$!
	wait_until "trains_on 1" 30 && sleep 1 && tell --resize=2 &&
		wait_until "trains_on 2" 30 && sleep 1 && kill_rank &&
		wait_until "trains_on 2" 30 && sleep 1 && tell --resize=1 &&
		wait_until "trains_on 1" 30
	local through=$?
	touch hurry
	wait $launcher
	local rc=$?
	cat said.txt
	[ $through -eq 0 ] && [ $rc -eq 0 ] && grep 'trained to the end' said.txt
}

each_once() {
	ls notes.* && "$python" "$bindings/tests/sharded.py" --check
}

# What earlier starts have noted of the shards is used by later ones.
indexed_once() {
	ls -l index && [ "$(find index -type f | wc -l)" -eq 4 ] &&
		! find index -newer notes.1.0 -name 'data*' -newermt \
			"$(stat -c %y notes.2.0)" | grep .
}

ok "tar files are written, one of them by tar" shards_are_there
ok "a training on them is resized and killed: 1, 2, 1 ranks" trained
ok "each sample was given once in each epoch, with its own data" each_once
ok "where samples begin was looked up once" indexed_once
plan "$tap_count"
