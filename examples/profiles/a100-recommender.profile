# SPDX-License-Identifier: MIT
# A recommender on fast cards with a fast network: passes are so short that
# only large batches pay. Seconds; see pollux-train(1), PROFILES.
alpha_c 0.0060
beta_c  0.0000010
alpha_n 0.0060
beta_n  0.0001
alpha_r 0.0020
beta_r  0.00005
gamma   1.0
