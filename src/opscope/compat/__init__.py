"""Drop-in replacements for functions of other tools: same names and arguments, with opscope's pictures and tables.

from opscope.compat.torchviz import make_dot
from opscope.compat.torchsummary import summary

Importing them does not import a framework.
"""
