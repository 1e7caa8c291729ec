"""Traces of PyTorch's profiler (Kineto): what ran on the host and on the device, and which operation of which module launched it."""
