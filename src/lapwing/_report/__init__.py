"""Parts of the report: figures from arrays, pictures, template and style of the page."""
