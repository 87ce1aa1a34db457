# SPDX-License-Identifier: MIT
# test_unharmed.t - rigid jobs fare with sched/pollux as with sched/backfill
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/rigid.sh" || exit 1

plan 17
rigid_up --nodes 4 --gpus-per-node 4 \
	--conf-extra "SelectTypeParameters=CR_Core_Memory" \
	--conf-extra "DefMemPerCPU=100" \
	--params bf_interval=2,pollux_min_gap=0.3 \
	--conf-extra "PartitionName=half Nodes=n[1-2] PriorityTier=2"

# --- no elastic job: the same jobs on the same nodes at every step
rigid wide -N3 --gpus-per-node=4 -t 5 --priority=900
rigid thin -N1 --gpus-per-node=1 -t 30 --priority=890
rigid all -N4 --gpus-per-node=4 -t 5 --priority=800
rigid long -N1 --gpus-per-node=2 -t 60 --priority=700
rigid short -N1 --gpus-per-node=2 -t 3 --priority=600
ok "rigid jobs start where backfill starts them" as_backfill "%j %N"
rigid tiny -N1 --gpus-per-node=1 -t 2 --priority=500
rigid half -p half -N1 --gpus-per-node=4 -t 2 --priority=400
let_end wide
ok "and after one of them has ended" as_backfill "%j %N"
let_end thin short tiny
ok "and after more of them have" as_backfill "%j %N"
let_end all
ok "and when the widest made way" as_backfill "%j %N"
let_end long half
ok "until none is left" as_backfill "%j %N"

# --- elastic jobs that have everything: rigid jobs start as if they were small
elastic one 1 16 --mem-per-cpu=7000 --priority=1000
elastic two 2 16 --mem-per-cpu=7000 --priority=950
ok "elastic jobs share all 16 GPUs" wait_until "held_by 16 16 one two" 60
rigid pair -N2 --gpus-per-node=3 -t 5 --priority=900
rigid lone -N1 --gpus-per-node=3 -t 5 --priority=890
ok "rigid jobs start as if elastic ones were at their minimum" \
	as_backfill "%j"
rigid all -N4 --gpus-per-node=3 -t 30 --priority=800
rigid long -N1 --gpus-per-node=1 -t 60 --priority=700
rigid short -N1 --gpus-per-node=1 -t 1 --priority=600
ok "those behind a wide one, too: a short one, not a long one" \
	as_backfill "%j"
let_end pair short
ok "and when GPUs come back" as_backfill "%j"
let_end lone all long
ok "the elastic jobs get all of them back" \
	wait_until "held_by 16 16 one two" 60

# --- not GPUs but CPUs or memory of a node are short
rigid cpus -N1 -c 5 --mem=100 -t 5 --priority=500
ok "room is made by CPUs" as_backfill "%j"
let_end cpus
rigid memory -N1 -c 1 --mem=64000 -t 5 --priority=500
ok "room is made by memory" as_backfill "%j"
let_end memory
# With backfill both others may be on n1 and have three GPUs there.
rigid part -p half -N2 --gpus-per-node=1 -t 5 --priority=1
ok "room is made in another partition" as_backfill "%j"
let_end part
wait_until "held_by 16 16 one two" 60

# --- who would not start anyway gets no room
later() {
	sb sbatch -o /dev/null -N4 --gpus-per-node=3 "$@" --wrap "sleep 60" \
		>/dev/null
}
later --dependency="afterok:$(id_of one)" --priority=2000
later --begin=now+1hour --priority=2000
later --hold
rigid mark -N1 --gpus-per-node=1 -t 5 --priority=400
wait_until "runs mark" 30
ok "a job that waits for something else gets no room" \
	wait_until "held_by 12 15 one two && runs mark" 30
let_end mark
sb scancel -t PENDING -u "$(id -un)"

# --- priority: who is parked, and who comes back first
low=$(sb sbatch --parsable -o /dev/null -N4 --gpus-per-node=4 --priority=10 \
	--wrap "sleep 60")
rigid mark2 -N1 --gpus-per-node=1 -t 5 --priority=400
ok "nobody is parked for a job of lower priority" \
	wait_until "runs mark2 && held_by 12 15 one two" 30
sb scancel "$low"
rigid high -N4 --gpus-per-node=4 -t 5 --priority=5000
let_end mark2
ok "all are parked for a job of higher priority" \
	wait_until "runs high && held_by 0 0 one two" 30
let_end high
ok "they come back after it" wait_until "held_by 16 16 one two" 60
rigid_down
