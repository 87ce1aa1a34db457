/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_weak.h - Slurm's variables, and functions whose address is taken
 *
 * One that is missing would keep the plugin from being mapped, and slurmctld
 * ends then. Weak, it is NULL, and common/loaded.c says that it is missing.
 * Calls need no such line: Slurm binds them late. tests/test_fit.t finds those
 * that are not here.
 */
#ifndef POLLUX_SLURM_WEAK_H
#define POLLUX_SLURM_WEAK_H

#pragma weak accounting_enforce
#pragma weak acct_db_conn
#pragma weak assoc_mgr_tres_name_array
#pragma weak avail_node_bitmap
#pragma weak booting_node_bitmap
#pragma weak cg_node_bitmap
#pragma weak default_part_loc
#pragma weak gres_find_id
#pragma weak idle_node_bitmap
#pragma weak job_list
#pragma weak last_job_update
#pragma weak last_node_update
#pragma weak last_part_update
#pragma weak node_record_count
#pragma weak node_record_table_ptr
#pragma weak nonstop_ops
#pragma weak part_list
#pragma weak power_down_node_bitmap
#pragma weak power_node_bitmap
#pragma weak resv_list
#pragma weak rs_node_bitmap
#pragma weak share_node_bitmap
#pragma weak slurm_cgroup_conf
#pragma weak slurm_conf
#pragma weak slurm_destroy_selected_step
#pragma weak slurmctld_config
#pragma weak slurmctld_diag_stats
#pragma weak slurmctld_tres_cnt
#pragma weak xfree_ptr

#endif
