# SPDX-License-Identifier: MIT
# mirror.sh - where this machine's apt has Debian's own archive from
#
# Sourced by what makes a Debian in a folder: matrix, vm/check.

# apt_mirror: prints its address; fails where apt knows of none.
apt_mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
		grep -m 1 -E '/debian/?$'
}
