"""What the report is made of: figures from arrays, pictures, the page's template and style."""
