# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# gpus.sh - virtual GPUs, their types and instances, and gres.conf

# The type of all GPUs, or nothing.
one_type() {
	[[ $gpu_types == *[,+]* ]] || echo "${gpu_types:+$gpu_types:}"
}

# Are there nodes that differ, or several types on one?
mixed_types() {
	[ "$gpus" -gt 0 ] && [[ -n $mig || $gpu_types == *[,+]* ]]
}

# The types of all GPUs; some may come more than once.
all_types() {
	local i

	if [ -z "$mig" ]; then
		echo "${gpu_types//[,+]/ }"
	else
		for ((i = 1; i <= nodes; i++)); do
			gpus_of "$i"
		done | awk '$1 != "-" && !seen[$1]++ { print $1 }'
	fi
}

# What accounting counts: GPUs, and those of each type.
counted_gpus() {
	local type result=gres/gpu

	[ "$like" = plain ] || [ "$gpus" = 0 ] || for type in $(all_types); do
		[[ ",$result," == *",gres/gpu:$type,"* ]] ||
			result+=,gres/gpu:$type
	done
	echo "$result"
}

# types_of N: the types of node N's GPUs, each with its first device and number;
# "-" is none.
types_of() {
	local -a all parts
	local i part

	IFS=, read -ra all <<<"${gpu_types:--}"
	IFS=+ read -ra parts <<<"${all[($1 - 1) % ${#all[@]}]}"
	part=$((gpus / ${#parts[@]}))
	for ((i = 0; i < ${#parts[@]}; i++)); do
		echo "${parts[i]} $((i * part)) $part"
	done
}

# sizes_of N: the instances that each GPU of node N is cut into; nothing: none.
sizes_of() {
	local -a all

	IFS=, read -ra all <<<"${mig:-whole}"
	all=("${all[($1 - 1) % ${#all[@]}]}")
	[ "${all[0]}" = whole ] || echo "${all[0]//:/ }"
}

# gpus_of N: of each GPU of node N, or instance of one, its type, the number of
# its GPU, its files, the number of its instance on that GPU, and of how many.
gpus_of() {
	local type first count k i
	local -a sizes

	read -ra sizes <<<"$(sizes_of "$1")"
	types_of "$1" | while read -r type first count; do
		for ((k = first; k < first + count; k++)); do
			[ ${#sizes[@]} -gt 0 ] || echo "$type $k gpu$k 0 0"
			for ((i = 0; i < ${#sizes[@]}; i++)); do
				echo "${type#-}${type:+_}${sizes[i]} $k" \
					"gpu$k,cap$((k * ${#sizes[@]} + i))" \
					"$i ${#sizes[@]}"
			done
		done
	done | sed 's/^_//'
}

# Virtual GPUs: slurmd wants character devices, numbered as the GPUs are. A
# link to /dev/null has a name of its own and exists everywhere.
make_devices() {
	local i

	mkdir -p "$dir/dev" || return 1
	for ((i = 0; i < gpus; i++)); do
		ln -sfn /dev/null "$dir/dev/gpu$i" || return 1
	done
	for ((i = 1; i <= nodes && ${#mig} > 0; i++)); do
		gpus_of "$i"
	done | grep -oE 'cap[0-9]+' | sort -u | while read -r i; do
		ln -sfn /dev/null "$dir/dev/$i" || return 1
	done
}

# links_of GPU: a number for each GPU, as Links= has them: 4 where these two are
# linked.
links_of() {
	local i result=""

	for ((i = 0; i < gpus; i++)); do
		if [ "$i" = "$1" ]; then
			result+=,-1
		elif [[ ",$gpu_links," == *",$1-$i,"* ||
			",$gpu_links," == *",$i-$1,"* ]]; then
			result+=,4
		else
			result+=,0
		fi
	done
	echo "${result#,}"
}

# cores_of GPU: those of its socket.
cores_of() {
	local each=$((cpus / sockets)) socket=$(($1 * sockets / gpus))

	echo "$((socket * each))-$((socket * each + each - 1))"
}

# A line for each GPU: on which socket it is, and with which it is linked. Of
# instances Slurm finds that out.
write_gpus_with_places() {
	local i k type files

	for ((i = 1; i <= nodes; i++)); do
		gpus_of "$i" | while read -r type k files _; do
			echo "NodeName=n$i Name=gpu" "Type=$type" \
				"File=$root/dev/${files/,/,$root/dev/}" \
				"Cores=$(cores_of "$k")" \
				${gpu_links:+"Links=$(links_of "$k")"}
		done
	done | sed -e 's/ Type=-//' \
		-e 's/ File=\([^ ]*,[^ ]*\) Cores=.*/ MultipleFiles=\1/'
}

# Instances of GPUs, as Slurm finds them by NVML: CUDA is told their names, and
# the first ones of all GPUs are numbered before the second ones. Slurm reads
# lines of 255 bytes.
write_found_gpus() {
	local i k type files count links

	for ((k = 1; k <= nodes; k++)); do
		gpus_of "$k"
	done | sort -u | while read -r type k files i count; do
		[ "$count" -gt 0 ] || continue
		links=$(yes 0 | head -n "$count" | sed "$((i + 1))s/.*/-1/" |
			paste -sd,)
		printf '%s|%d|%s|%s|%s|MIG-%08d-0000-4000-8000-%012d|%s\n' \
			"$type" "$cpus" "$(cores_of "$k")" "$links" \
			"$root/dev/${files/,/,$root/dev/}" "$k" "$i" \
			nvidia_gpu_env,env_uuid
	done | awk '{ print } length > 254 { exit 1 }' || {
		complain "--mig: names of types, or of the folder, are too long"
		return 1
	}
}

write_gres_conf() {
	local i type first count

	echo "# Written by pollux-sandbox."
	if [ "$sockets" -gt 1 ] || [ -n "$gpu_links$mig" ]; then
		write_gpus_with_places
		return
	fi
	if mixed_types; then
		for ((i = 1; i <= nodes; i++)); do
			types_of "$i" | while read -r type first count; do
				echo "NodeName=n$i Name=gpu Type=$type" \
					"File=$root/dev/gpu[$first-$((first + count - 1))]"
			done
		done
		return
	fi
	type=$(one_type)
	[ "$gpus" = 0 ] || echo "NodeName=n[1-$nodes] Name=gpu" \
		${type:+"Type=${type%:}"} \
		"File=$root/dev/gpu[0-$((gpus - 1))]"
}
