"""Evaluation: data sets, runs of methods over them, metrics, judges, reports and figures."""
