"""The folder that goes on PYTHONPATH: nothing in it but `sitecustomize`."""
