"""Statistics that several studies share: intervals, bootstrap, estimators."""
