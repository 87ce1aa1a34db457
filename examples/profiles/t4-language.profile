# SPDX-License-Identifier: MIT
# A large language model's fine-tuning: long passes, and an all-reduce over
# nodes that costs more than a pass. Seconds; see pollux-train(1), PROFILES.
alpha_c 0.150
beta_c  0.0600
alpha_n 0.900
beta_n  0.0200
alpha_r 0.250
beta_r  0.0100
gamma   1.3
