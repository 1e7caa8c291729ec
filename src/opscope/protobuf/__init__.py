"""Protocol buffers with the standard library: a strict reader of the wire format, and the messages that opscope knows."""
