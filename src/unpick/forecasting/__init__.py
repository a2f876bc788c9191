"""What a data set's own local structure foretells of the VAE that will be trained on it."""

from unpick.forecasting.forecast import forecast
from unpick.forecasting.result import FactorForecast, Forecast, PairForecast

__all__ = ["FactorForecast", "Forecast", "PairForecast", "forecast"]
