"""Columns to relations: op tree, launch links, activities, steps and the sums over them."""
