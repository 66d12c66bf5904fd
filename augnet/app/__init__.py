"""From data of your own to a model, its invariances, and augmentations to take away.

    DATA ──► split ──► learn ──► examine ──► a directory: model, invariances, page

    settings   what the command is told
    job        the directory, which can be left at any moment and taken up again
    examine    how well the model does on samples that it was not learned from
    wording    what was found, in transforms and units
    figures    what it looks like
    page       all of it on one page
    predict    a model's answers to other samples
    verbs      the command line

Reading data is the duty of `augnet.data`, files of models that of `augnet.model`.
"""
