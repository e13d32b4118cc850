"""Parts of the report: figures from arrays, pictures, the page's template and style."""
