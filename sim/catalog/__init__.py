"""What the world is made of: GPUs, models, length quantiles, predictors, each with its source, and their lookup."""

from sim.catalog.gpus import Gpu, gpu, gpu_names
from sim.catalog.lengths import dataset_names, length_quantiles
from sim.catalog.models import Model, model, model_names
from sim.catalog.predictors import (
    Confusion,
    PublishedPredictor,
    confusion_matrix,
    predictor_names,
    published_predictor,
)

__all__ = [
    "Confusion",
    "Gpu",
    "Model",
    "PublishedPredictor",
    "confusion_matrix",
    "dataset_names",
    "gpu",
    "gpu_names",
    "length_quantiles",
    "model",
    "model_names",
    "predictor_names",
    "published_predictor",
]
