"""Measured times: profiles, and which node of a program each of their events belongs to."""
