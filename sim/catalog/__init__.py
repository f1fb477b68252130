"""What the world is made of: GPUs, models, length quantiles, each with its source, and their lookup."""

from sim.catalog.gpus import Gpu, gpu, gpu_names
from sim.catalog.lengths import dataset_names, length_quantiles
from sim.catalog.models import Model, model, model_names

__all__ = [
    "Gpu",
    "Model",
    "dataset_names",
    "gpu",
    "gpu_names",
    "length_quantiles",
    "model",
    "model_names",
]
