# SPDX-License-Identifier: MIT
# samples.sh DIR SAMPLES EPOCHS [so-far] - was every sample used once in each
# epoch? With so-far, training was cut short: later epochs are not looked at.
#
# DIR is what POLLUX_SAMPLE_LOG named (src/agent/disk/samplelog.h): a file
# GENERATION.RANK for each rank of each start. What a later start rolled back
# does not count. Says what is wrong, or how much was found right.
set -u
dir=${1:?folder} samples=${2:?samples} epochs=${3:?epochs}
limit=-1
[ "${4:-}" != so-far ] || limit=$epochs

# A rank killed between sum and commit took part in that step. If nobody has
# committed it, it is rolled back as any other.
unsaid() {
	awk '
		$1 == "sum" && NF == 2 { last = $2; count = 0; next }
		$1 == "sum" { sub(/^sum /, ""); parts[count++] = $0; next }
		$1 == last { count = 0 }
		{ print }
		END {
			for (i = 0; i < count; i++)
				print parts[i]
		}' "$1"
}

# "GENERATION from STEP" or "GENERATION STEP EPOCH FIRST COUNT SUM"
all_lines() {
	local file generation
	for file in "$dir"/*.*; do
		generation=$(basename "$file")
		unsaid "$file" | sed "s/^/${generation%.*} /"
	done
}

# "EPOCH FIRST COUNT SUM" of what was not rolled back. Latest first: a start
# makes void all steps from where it began.
valid_lines() {
	all_lines | sort -k1,1nr -s | awk '
		BEGIN { limit = 1e18; from = limit }
		NR == 1 || $1 != generation {
			generation = $1
			if (from < limit)
				limit = from
		}
		$2 == "from" { from = $3; next }
		$2 < limit { print $3, $4, $5, $6 }'
}

valid_lines | sort -k1,1n -k2,2n | awk -v limit="$limit" \
	-v n="$samples" -v epochs="$epochs" '
	function close_epoch() {
		if (at != n) {
			printf "epoch %d: ends at %d of %d\n", epoch, at, n
			bad = 1
		}
		if (sum != n * (n - 1) / 2) {
			printf "epoch %d: samples sum up to %d\n", epoch, sum
			bad = 1
		}
		done++
	}
	limit >= 0 && $1 >= limit { next }
	!parts || $1 != epoch {
		if (parts)
			close_epoch()
		if ($1 != done) {
			printf "epoch %d follows %d epochs\n", $1, done
			bad = 1
		}
		epoch = $1
		at = 0
		sum = 0
	}
	$2 != at {
		printf "epoch %d: from %d on, %d expected\n", $1, $2, at
		bad = 1
	}
	{
		at = $2 + $3
		sum += $4
		parts++
	}
	END {
		if (parts)
			close_epoch()
		if (done != epochs) {
			printf "%d epochs, want %d\n", done, epochs
			bad = 1
		}
		if (!bad)
			printf "%d epochs of %d samples in %d parts: each once\n",
				done, n, parts
		exit bad
	}'
