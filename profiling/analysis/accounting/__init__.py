"""Where the time of a device went: buckets, GPU time, queue, dispatch, memory."""
