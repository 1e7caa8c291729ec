"""Drop-in stand-ins for functions that people already call: same names, same arguments, opscope's pictures and tables.

from opscope.compat.torchviz import make_dot
from opscope.compat.torchsummary import summary

Importing these loads no framework.
"""
