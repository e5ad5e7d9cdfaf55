"""What a training run or a grid takes, on paper: time, memory, network, and what breaks first."""
