# SPDX-License-Identifier: MIT
# test_convergence.t - a resized training learns as well as an undisturbed one
#
# For several seeds (of data, model and order) the same training runs
# undisturbed on 2 ranks, undisturbed on 4, and resized twice an epoch, in its
# middle and at its end; batch size and learning rate adapt in all of them.
# Compared is the final loss. Undisturbed runs differ as well: what they
# differ by is the noise. To know that the comparison can fail, a run that is
# cut short by a quarter must fail it.
. "${POLLUX_SRCDIR}/tests/lib.sh"
. "${POLLUX_SRCDIR}/tests/mpi.sh"

launcher=$POLLUX_BUILDDIR/tests/unit/fake_launcher
seeds="1 2 3 4 5 6 7 8"
shapes=(1 4 2 3 1 5 2 4)
epochs=${#shapes[@]}
args=(--samples 4096 --batch 32 --max-batch 256 --emulate-gpu fixed
	--time-scale 10)
cd "$WORK" || exit 1

# whole RANKS SEED EPOCHS: prints the final loss.
whole() {
	ranks "$1" "$train" "${args[@]}" --seed "$2" --epochs "$3" --json \
		>whole.out 2>&1 && field loss whole.out
}

# Stop right after the start, which is in the middle of an epoch.
interrupted() {
	POLLUX_CHECKPOINT_DIR=$WORK/saved $limit "$launcher" "$WORK/s" stop \
		mpirun -n "$1" "$train" "${args[@]}" --seed "$2" \
		--epochs "$epochs" >>resized.out 2>&1
}

resized() {
	local e=0 n
	rm -rf saved
	for n in "${shapes[@]}"; do
		e=$((e + 1))
		interrupted $((n % 3 + 1)) "$1" &&
			ranks "$n" "$train" "${args[@]}" --seed "$1" \
				--epochs $e --checkpoint-dir saved --json \
				>last.out 2>&1 || return 1
		cat last.out >>resized.out
	done
	field loss last.out
}

# A line a seed: losses on 2, on 4, resized, and cut short.
all_losses() {
	local s
	for s in $seeds; do
		echo "$s $(whole 2 "$s" "$epochs") $(whole 4 "$s" "$epochs")" \
			"$(resized "$s")" \
			"$(whole 2 "$s" $((epochs * 3 / 4)))"
	done >losses
	cat losses
	awk '{ for (i = 2; i <= 5; i++) bad += !($i > 0 && $i < 1.3) }
		END { exit NR != 8 || NF != 5 || bad }' losses
}

# Batches did adapt, and learning rates with them.
adapted() {
	local sizes
	sizes=$(sed -nE 's/^epoch .* batch ([0-9]+) on .*, lr ([0-9.]+),.*/\1 \2/p' \
		resized.out | sort -u | wc -l)
	echo "$sizes pairs of batch and learning rate"
	[ "$sizes" -ge 8 ] && grep -q 'batch 256 on' resized.out
}

# same_as COLUMN: is its mean that of the undisturbed runs (columns 2 and 3)
# within 1 % of the loss, or within three standard errors of the paired
# differences where that is more? Says the figures.
same_as() {
	awk -v c="$1" '
		{
			d[NR] = $c - ($2 + $3) / 2
			n[NR] = ($2 - $3) / 2
			whole += ($2 + $3) / 2
			mean += d[NR]
			noise += n[NR] ^ 2
		}
		END {
			mean /= NR
			whole /= NR
			for (i = 1; i <= NR; i++)
				sqr += (d[i] - mean) ^ 2
			se = sqrt(sqr / (NR - 1) / NR)
			printf "undisturbed %.4f, this %+.4f +- %.4f, noise of one run %.4f\n",
				whole, mean, se, sqrt(noise / NR)
			room = whole / 100 > 3 * se ? whole / 100 : 3 * se
			exit !(mean < room && -mean < room && se < whole / 100)
		}' losses
}

plan 4
ok "eight seeds are trained undisturbed and resized" all_losses
ok "batch size and learning rate adapted" adapted
ok "a resized training ends with the loss of an undisturbed one" same_as 4
ok "one that is cut short by a quarter does not" fails same_as 5
[ ! -e losses ] || for column in 4 5; do
	same_as $column | diag
done
