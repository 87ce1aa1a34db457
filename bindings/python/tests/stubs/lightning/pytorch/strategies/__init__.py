# SPDX-License-Identifier: MIT
"""A stub of lightning's DDPStrategy, with what it computes by default."""


class DDPStrategy:
    """Devices are those of a machine, one for each of its ranks."""

    num_nodes = 1

    def __init__(self, parallel_devices=None, cluster_environment=None):
        self.parallel_devices = parallel_devices
        self.cluster_environment = cluster_environment

    @property
    def world_size(self):
        return self.cluster_environment.world_size()

    @property
    def global_rank(self):
        return self.cluster_environment.global_rank()

    @property
    def root_device(self):
        return self.parallel_devices[self.cluster_environment.local_rank()]

    @property
    def distributed_sampler_kwargs(self):
        return {"num_replicas": self.num_nodes * len(self.parallel_devices),
                "rank": self.global_rank}
