"""What a data set's own local structure foretells of the VAE that will be trained on it."""

import sys
from types import ModuleType
from typing import Any

from unpick.forecast.forecast import forecast
from unpick.forecast.result import FactorForecast, Forecast, PairForecast

__all__ = ["FactorForecast", "Forecast", "PairForecast", "forecast"]


class _Callable(ModuleType):
    """The room and its one function have one name: `unpick.forecast(dataset)` calls it."""

    def __call__(self, *arguments: Any, **options: Any) -> Forecast:  # noqa: ANN401
        return forecast(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
