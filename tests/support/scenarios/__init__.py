"""Whole mapping scenarios, made by random transformations, so that what exchange makes is known without the mapping."""

from tests.support.scenarios.generation import Scenario, random_scenario
from tests.support.scenarios.paths import ScenarioPath, check_path, random_path

__all__ = ["Scenario", "ScenarioPath", "check_path", "random_path", "random_scenario"]
