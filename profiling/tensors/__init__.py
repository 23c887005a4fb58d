"""What each op did to its tensors: inputs, layouts, views, copies and outputs."""
