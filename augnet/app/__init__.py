"""The application: from a user's data to a model, its invariances, and augmentations to export.

    DATA ──► split ──► learn ──► evaluate ──► a directory: model, invariances, page

    settings   the settings of `augnet learn`, and the command that has them
    job        the directory of `augnet learn`, which can be left at any moment and resumed
    evaluate   scores and invariances of a model on test samples
    wording    invariances in plain text, with units
    figures    samples at the edges of ranges, confusion, learning curves
    response   response curves
    reliability  how far a result can be trusted
    page       all results on one page
    matrix     ranges of classes, for pages
    audit_*    the same for `augnet audit`: settings, job, wording, figures, page
    predict    predictions as a table
    commands   the commands
    lazy       commands that are imported when they are called

`augnet.data` reads data, `augnet.model` reads and writes model files.
"""
