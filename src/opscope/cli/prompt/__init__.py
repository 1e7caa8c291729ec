"""The interactive prompt (`opscope repl`): XLA's interactive_graphviz and more, without a build of XLA."""
