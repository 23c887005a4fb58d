"""What holds a run back: one file a finding, each with evidence, cost and advice."""
