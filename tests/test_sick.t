# SPDX-License-Identifier: MIT
# test_sick.t - a node on which no new ranks come up costs no job
#
# Two jobs, of two users, train on two nodes; a third node is sick, and both
# are given it: one hands over, the other resizes cold. The node's TmpFS cannot
# be written, its ranks hang, or their GPU breaks.
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/faults.sh" || exit 1

[ "$(id -u)" = 0 ] || skip_all "only root can be two users"
mkdir -p "$WORK/node/n1" "$WORK/node/n2" "$WORK/node/n3"
chmod 1777 "$WORK/node"/*
sandbox_up --nodes 3 --gpus-per-node 2 --conf-extra "TmpFS=$WORK/node/%n" \
	--params pollux_interval=1,pollux_sick=15
plan 27
# The other user has to reach munged.
chmod a+rx "$SB" "$SB/run" "$SB/etc"

# What is wrong, and where: "hang n2", "ecc n3".
cat >"$WORK/train" <<END
#!/bin/bash
is() {
	[ "\$(cat '$WORK/wrong' 2>/dev/null)" = "\$1 \$SLURMD_NODENAME" ]
}
is hang && sleep 1000
(
	while kill -0 \$\$ 2>/dev/null; do
		is ecc && {
			echo "CUDA error: uncorrectable ECC error" >&2
			sleep 0.2
			kill -KILL \$\$
		}
		sleep 0.1
	done
) </dev/null >/dev/null &
exec pollux-train "\$@"
END
chmod +x "$WORK/train"
: >"$WORK/wrong"
training="--samples=4096 --batch=256 --max-batch=2048 --epochs=1000000
	--emulate-gpu=compute --checkpoint-every=1"

# submit NAME PARAMS LAUNCH-OPTIONS SBATCH-OPTION...: prints the job's id.
submit() {
	local name=$1 params=$2 options=$3
	shift 3
	mkdir -m 700 "$WORK/$name.ckpt"
	[[ $* != *--uid=daemon* ]] || chown daemon: "$WORK/$name.ckpt"
	: >"$WORK/$name.out"
	chmod 666 "$WORK/$name.out"
	# shellcheck disable=SC2086
	sb sbatch --parsable -J "$name" --scheduler-params="pollux,$params" \
		-o "$WORK/$name.out" --open-mode=append "$@" --wrap \
		"srun ${mpi-} pollux-launch -v $options --checkpoint-dir \
$WORK/$name.ckpt $WORK/train $(echo $training)"
}

# fill NODE: with a job that is not elastic; $full is its id.
fill() {
	full=$(submit_rigid -w "$1" --gpus-per-node=2 -- 1000)
	wait_until "is_state $full RUNNING" 30
}

settles() {
	wait_until "has_gpus $1 2 && trains $1" 60
}

fall_sick() {
	rmdir "$WORK/node/$1" && : >"$WORK/node/$1"
}

get_well() {
	rm "$WORK/node/$1" && mkdir -m 1777 "$WORK/node/$1"
}

on_node() {
	devices_of "$1" | grep -q "^$2 "
}

# On another node than that of its script, too.
trains_on_more() {
	trains "$1" && { on_node "$1" n2 || on_node "$1" n3; }
}

script_stays() {
	sb scontrol show job "$1" | grep 'BatchHost=n1' &&
		[ "$(sb sacct -X -n -D -j "$1" -o JobID | wc -l)" -ge 1 ] &&
		fails grep 'Restarts=[1-9]' <(sb scontrol show job "$1")
}

goes_on() {
	local epochs
	epochs=$(epochs_of "$2")
	is_state "$1" RUNNING &&
		wait_until "[ $(epochs_of "$2") -lt \$(epochs_of $2) ]" 60 &&
		[ "$(epochs_of "$2")" -gt "$epochs" ] && is_state "$1" RUNNING
}

# complained JOB NODE [WHAT]: once at least.
complained() {
	logged "JobId=$1: ${3:-its ranks} failed on $2, which is closed to"
}

# Its ranks were never stopped for that.
never_stopped() {
	fails grep -E 'training -> (idle|saving|yielding)|restart [1-9]' \
		"$WORK/$1.out" && grep -q 'returning -> training' "$WORK/$1.out"
}

why_of() {
	sb scontrol show job "$1" | sed -n 's/.*SystemComment=.*why=//p'
}

metric() {
	sb pollux-stat --json | jq -e "$1"
}

# ---- TmpFS of n2 cannot be written ----

fill n2
hold2=$full
fill n3
hold3=$full
warm=$(submit warm min=2,max=4 "")
ok "a job trains on one node" settles "$warm"
cold=$(submit cold min=2,max=4 --no-prewarm --uid=daemon --chdir=/)
sb scancel "$hold3"
ok "one of another user trains on another" settles "$cold"
fall_sick n2
sb scancel "$hold2"
ok "both are given a node where no rank comes up" \
	wait_until "complained $warm n2 && complained $cold n2" 90
ok "... the one that hands over trains on, and never stopped" \
	eval 'goes_on $warm warm && never_stopped warm'
ok "... the one that does not goes on with the shape it had" \
	goes_on "$cold" cold
ok "... which was no restart" fails grep 'restart [1-9] of' "$WORK/cold.out"
ok "... both have what they had" \
	wait_until "has_gpus $warm 2 && has_gpus $cold 2" 30
ok "the node is closed to all elastic jobs" \
	wait_until "logged 'failed on n2, which is closed to all elastic'" 60
ok "... as pollux-stat says" wait_until "metric '.nodes_sick == 1'" 30
ok "... and scontrol show node" \
	wait_until "sb scontrol show node n2 | grep 'Comment=pollux: closed'" 30
ok "... and pollux-top" eval 'sb pollux-top --once --json |
	jq -e ".by_node[] | select(.node == \"n2\").state == \"sick\""'
ok "... and what they say of themselves" \
	wait_until "why_of $warm | grep 'ranks failed on n2'" 30
get_well n2
ok "after a while it is tried again" \
	wait_until "logged 'n2 is open to elastic jobs again'" 60
ok "... its comment is gone" \
	wait_until "! sb scontrol show node n2 | grep Comment=pollux" 30
ok "... and taken, now that it is well" \
	wait_until "on_node $warm n2 || on_node $cold n2" 60
ok "... which makes what was said forgotten" \
	wait_until "logged 'trains on n2: what was said against it'" 30
sb scancel "$warm" "$cold"
wait_until cluster_is_idle 60

# ---- Slurm starts a job on a sick node ----

fill n1
hold1=$full
fill n3
hold3=$full
fall_sick n2
# Where MpiDefault is PMIx, the launcher's own step would fail as well.
started=$(mpi=--mpi=none submit started min=2,max=2 "")
ok "a job that Slurm starts where no rank comes up is put back" \
	wait_until "complained $started n2 'its start'" 60
ok "... and starts no more there" eval 'wait_until "is_state $started PENDING" 30 &&
	sb scontrol show job "$started" | grep ExcNodeList=n2'
sb scancel "$hold3"
ok "... but elsewhere, where it trains" \
	eval 'wait_until "has_gpus $started 2 && trains $started" 60 &&
		on_node $started n3'
ok "... which its output tells" \
	grep 'srun started nothing on n2, 3 times: asking for other nodes' \
	"$WORK/started.out"
get_well n2
sb scancel "$hold1" "$started"
wait_until cluster_is_idle 60

# ---- a liar ----

# Nodes that it was not given, too: of those nothing is heard.
lies() {
	local liar later node
	liar=$(sb sbatch --parsable -o /dev/null --gpus=1 \
		--scheduler-params=pollux,min=1,max=1 --wrap "sleep 600")
	wait_until "is_state $liar RUNNING" 30 || return 1
	sb scontrol update job="$liar" comment="[pollux v=1 launcher=none ack=0 \
phase=training resizes=0 pause=0,0 failed=0:n1,n2,n3]"
	# Whoever comes later is looked at later.
	later=$(sb sbatch --parsable -o /dev/null --gpus=1 \
		--scheduler-params=pollux,min=1,max=1 --wrap "sleep 600")
	wait_until "why_of $later | grep 'no launcher'" 30 &&
		for node in n1 n2 n3; do
			on_node "$liar" $node ||
				fails complained "$liar" $node || return 1
		done
	local rc=$?
	sb scancel "$liar" "$later"
	return $rc
}

ok "who names nodes that it was not given is not heard" lies
wait_until cluster_is_idle 60

# ---- ranks hang; a GPU breaks ----

fill n2
hold2=$full
fill n3
hold3=$full
hung=$(submit hung min=2,max=4 --warm-timeout=3)
settles "$hung"
echo hang n2 >"$WORK/wrong"
sb scancel "$hold2"
ok "new ranks hang before they have met: the old ones train on" \
	eval 'wait_until "complained $hung n2" 60 && goes_on $hung hung &&
		never_stopped hung'
sb scancel "$hold3"
ok "the job grows onto another node" \
	wait_until "on_node $hung n3 && trains $hung" 60
echo ecc n3 >"$WORK/wrong"
ok "a GPU of it breaks: the job leaves the node, and goes on" \
	eval 'wait_until "complained $hung n3" 60 &&
		wait_until "! on_node $hung n3" 60 && goes_on $hung hung'
echo well everywhere >"$WORK/wrong"
# Its script stays where it is, and has no GPU there.
wait_until "on_node $hung n1 && trains $hung" 60
wait_until "trains_on_more $hung" 90
echo ecc n1 >"$WORK/wrong"
ok "a GPU of its script's node breaks: it leaves that, and goes on" \
	eval 'wait_until "complained $hung n1" 60 &&
		wait_until "! on_node $hung n1" 60 && goes_on $hung hung'
ok "... its script stays where it is" script_stays "$hung"
ok "slurmctld lives" slurmctld_lives
