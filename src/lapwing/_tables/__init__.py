"""Tables of users, from files and data frames to what estimators are fitted to.

A table has two types. `RawTable` (`columns`) is the table as read: named columns of cells, each
number or text as it stands, with labels and other columns as they are written (`TextColumn`), ids
and the number of each row in its file. `Table` (`tables`) is the table as learnt from: `Features`
(`encoders`) and coded labels, checked.

1. Read: `reading` opens each file in its format (`csv`, `excel`, `frames`, `matrices`) and puts the
   files one below the other: `RawTable`.
2. Roles: `Selection` (`columns`) finds the label, the id and the features among the names.
3. Encode: `assembly` infers what each column is (`inference`) and makes features of its cells by a
   reading (`encoders`), which the model keeps: `Features`.
4. Check and code: `checks` collects errors and warns, `coding` codes the labels, `answers` fills in
   labels of later files: `Table`.
5. Preprocess: `embedding` makes vectors of texts, `preprocessing` imputes, scales and encodes:
   points of an estimator. `predictions` writes its answers.

New rows for a model go the same way, with the readings of the fit in place of inference.
"""
