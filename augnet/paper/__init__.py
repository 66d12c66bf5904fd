"""The reproduction of the paper: experiments, data sets, searches and reports.

    experiments   one TOML file per figure: settings, variants, protocols, claims
    config        what such a file may contain, and how a run's settings follow from it
    datasets      the data of the paper
    train, score  the trainer, and what it measures
    run, launch   a run as a directory; many runs on processes, torchrun or Ray
    search        policies by trials or gradients: AutoAugment, Fast, Faster, DADA, ADDA, ...
    report        pages, tables and figures of runs
    cli           the commands of `augnet paper`

The library does not import this package.
"""
