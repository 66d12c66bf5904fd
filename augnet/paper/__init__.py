"""The reproduction of the paper: experiments, data sets, searches and reports.

The library does not import this package.
"""
