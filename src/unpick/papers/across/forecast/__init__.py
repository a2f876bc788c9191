"""Forecasts from the data alone, held against models that were trained afterwards."""
