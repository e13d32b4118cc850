"""Tables of users, from files and data frames to what estimators are fitted to.

A table has two types. `RawTable` (`columns`) is the table as read: named columns of cells, each
number or text as it stands, with labels and other columns as they are written (`TextColumn`), and
the number of each row in its file. `Table` (`tables`) is the table as learnt from: `Features`
(`encoders`) and coded labels, checked.

1. Read: `reading` opens each file in its format (`csv`, `excel`, `frames`, `matrices`) and puts the
   files one below the other: `RawTable`. `Selection` (`roles`) finds the label, the id and the
   features among the names.
2. Encode: `assembly` infers what each column is (`inference`), makes features of its cells by a
   reading (`encoders`), which the model keeps, and checks them: `Features`.
3. Label: `labels` collects the labels, also from files of answers (`answers`), codes them, and
   warns of those that are probably not meant: `Table`.
4. Preprocess: `embedding` makes vectors of texts, `preprocessing` imputes, scales and encodes:
   points of an estimator. `predictions` writes its answers.

New rows for a model go the same way, with the readings of the fit in place of inference.
"""
