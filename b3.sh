. /tmp/w/fast2x/env.sh
python -m pytest -q -p no:cacheprovider -m "not slow" --durations=10 tests/solvers/low_density/test_methods.py tests/estimators/test_s3vc.py tests/app/test_cli_fuzz.py tests/test_documents.py::test_the_guide_names_what_there_is 2>&1 | tail -40
