# SPDX-License-Identifier: MIT
# A vision model on 16-GB inference cards: computing dominates, 10 Gbit/s
# between nodes costs some. Seconds; see pollux-train(1), PROFILES.
alpha_c 0.020    # a pass: fixed part
beta_c  0.00055  # ... and per sample
alpha_n 0.070    # all-reduce over nodes: fixed part
beta_n  0.0015   # ... and per GPU beyond two
alpha_r 0.018    # all-reduce in a node: fixed part
beta_r  0.0008   # ... and per GPU beyond two
gamma   2.2      # overlap of pass and all-reduce: 1 none, 10 nearly all
