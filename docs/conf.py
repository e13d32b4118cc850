"""How Sphinx builds the site: ``make docs``. Nothing is fetched, neither now nor by readers."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import lapwing  # noqa: E402

project = "lapwing"
author = "lapwing developers"
copyright = author
version = release = lapwing.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Of this folder: see their docstrings.
    "api_pages",
    "mathml",
    "pictures",
]
root_doc = "index"
exclude_patterns = ["_build", "_generated", "Thumbs.db", ".DS_Store"]
templates_path = ["_templates"]
highlight_language = "none"
nitpicky = True
# The inventories of other projects would be fetched, and a build needs no network.
nitpick_ignore_regex = [
    ("py:.*", r"(array_api_compat|joblib|matplotlib|np|numpy|pandas|polars|scipy|sklearn)\..*"),
    ("py:.*", r"(collections|pathlib|typing)\..*"),
]

# ---- pages --------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
html_math_renderer = "mathml"

# ---- API ----------------------------------------------------------------------------------------

autosummary_generate = False  # api_pages writes them
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
default_role = "name"
numpydoc_show_class_members = False  # api_pages lists them: those of lapwing, in their order
numpydoc_xref_param_type = False

# ---- gallery ------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "subsection_order": [f"../examples/{name}" for name in ("data", "trust", "own", "work")],
    "within_subsection_order": "gallery_pictures.ReadingOrder",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    # What follows is in _ext/gallery_pictures.py; by name, for the environment is pickled.
    "image_scrapers": ("gallery_pictures.scrape",),
    "reset_modules": ("matplotlib", "gallery_pictures.prepare"),
    "ignore_pattern": r"__init__\.py",
    "doc_module": ("lapwing",),
    "backreferences_dir": "api/generated/backreferences",
    "reference_url": {"lapwing": None},
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "download_all_examples": False,
    "notebook_images": False,
    "first_notebook_cell": None,
}

# ---- looks --------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "lapwing"
html_context = {"default_mode": "auto"}  # the reader's own choice; without it the theme complains
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/lapwing.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"image_light": "_static/lapwing.svg", "image_dark": "_static/lapwing.svg",
             "text": "lapwing", "alt_text": "lapwing"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}  # fmt: skip
html_sidebars = {"index": [], "getting_started": [], "which_method": [],
    "questions": [], "glossary": [],
                 "contributing": [], "changelog": []}  # fmt: skip
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
