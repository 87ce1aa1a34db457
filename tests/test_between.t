# SPDX-License-Identifier: MIT
# test_between.t - a limit holds between two shapes, too
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 --params pollux_min_gap=0.2
plan 8

runs_on() {
	is_state "$1" RUNNING && has_gpus "$1" "$2" &&
		[ "$(job_field "$1" NumNodes)" = "$3" ]
}

# The most GPUs, and nodes, of any row that accounting has of it.
most_charged() {
	sb sacct -n -D -X -P -j "$1" -o alloctres,nnodes | awk -F '|' '
		match($1, /gres\/gpu=[0-9]+/) {
			gpus = substr($1, RSTART + 9, RLENGTH - 9) + 0
			if (gpus > most) most = gpus
			if ($2 + 0 > nodes) nodes = $2 + 0
		}
		END { print most + 0, nodes + 0 }'
}

# leaves NAME PARAMS: a job that trains on has four GPUs of a node, and then
# those of another as well, as three of its own are for a rigid job.
leaves() {
	job=$(submit_light "$1" "$2" -- --live=0.3 --samples=1000000000 \
		--profiled=8)
	wait_until "runs_on $job 4 1 && trains $job" 60 || return 1
	rigid=$(submit_rigid -w "$(job_field "$job" BatchHost)" \
		--gpus-per-node=3 --priority=4294910000 -- 3600)
	wait_until "is_state $rigid RUNNING" 60 &&
		wait_until "is_state $job RUNNING &&
			[ \"\$(job_field $job NumNodes)\" = 2 ]" 60
}

ok "a job of at most 4 GPUs goes from one node to two" \
	leaves four pollux,min=2,max=4
ok "it was told to stop first, and why" logged \
	"JobId=$job has to stop first.* both shapes are [5-8] GPUs, its max= is 4"
ok "at no time it had more" fails logged "JobId=$job hands over on [5-9]"
sb scancel "$job" "$rigid"
wait_until "ended $job $rigid" 30
wait_until cluster_is_idle 30
ok "accounting has no more GPUs of it than that" \
	wait_until "[ \"\$(most_charged $job)\" = '4 2' ]" 20

# keeps_memory: of four GPUs of n1 a job is to keep one, as three are for a rigid
# job, and to have the other three on n2. Ranks of both shapes run meanwhile.
keeps_memory() {
	local all
	sed -i "s/pollux_min_gap=0.2/&,pollux_uniform=no/" "$SB/etc/slurm.conf"
	sb scontrol reconfigure
	all=$(submit_rigid -w n2 --gpus-per-node=4 --mem=10 -- 3600)
	wait_until "is_state $all RUNNING" 30 || return 1
	job=$(submit_light large pollux,min=4 --gpus-per-node=4 \
		--mem-per-gpu=1000 -- --live=5 --batch=4,4,1,1,0)
	wait_until "runs_on $job 4 1 && trains $job" 60 || return 1
	sb scancel "$all"
	other=$(submit_rigid -w n2 --gpus-per-node=1 --mem=10 -- 3600)
	wait_until "is_state $other RUNNING" 30 || return 1
	rigid=$(submit_rigid -w n1 --gpus-per-node=3 --mem=10 \
		--priority=4294910000 -- 3600)
	wait_until "logged 'JobId=$job hands over on 7 GPUs'" 20 || return 1
	sb scontrol show node -o n1
	[ "$(sb scontrol show node -o n1 |
		grep -oE 'AllocMem=[0-9]+' | cut -d= -f2)" -eq 4000 ]
}

ok "a job with both shapes has the memory of the larger one on each node" \
	keeps_memory
ok "what goes with the GPUs given up is given up with them" wait_until \
	"is_state $rigid RUNNING && sb scontrol show node -o n1 |
		grep -q 'AllocMem=1010 '" 30
sb scancel "$job" "$rigid" "$other"
wait_until "ended $job $rigid $other" 30

ok "nothing is left" wait_until cluster_is_idle 30
ok "accounting agrees with what was held" wait_until accounts_agree 20
