# `make demo` and `make test` set everything up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Compiled modules are kept: without them every process the tests start would compile San anew.
unexport PYTHONDONTWRITEBYTECODE

# Tests wait for processes, disks and deadlines: three run side by side on two cores. Fast ones hardly wait.
TESTS := $(BIN)/python -m pytest -n $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 ))) --dist worksteal

# Installs those of Debian's packages that are missing, where this user may: packages, and what is skipped without them. It never
# fails: whatever needs one says so itself, and why, where it is skipped.
installed = [ "$$(dpkg-query -W -f='$${db:Status-Abbrev}\n' $(1) 2>/dev/null | grep -c ^ii)" = $(words $(1)) ]
debian = if ! $(installed); then \
    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
      echo "installing Debian's $(1) (once)"; \
      { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); } >/dev/null 2>&1; \
    fi; \
    $(installed) || echo "NOT ALL OF DEBIAN'S $(1) ARE INSTALLED: $(2) are skipped without them"; \
  fi

.PHONY: demo serve test check soak clients spark spark-few soak-spark plots docs bench dist requirements web clean

demo: $(VENV)/.run
	@$(BIN)/sanql demo

# The demo hospital over HTTP on this machine only, with fresh tokens; SERVE="--http 127.0.0.1:9000" for more.
serve: $(VENV)/.run
	@$(BIN)/sanql serve --demo served $(SERVE)

test: $(VENV)/.dev
	@$(TESTS) src tests docs README.md

check: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(TESTS) -n $(shell nproc) --hypothesis-profile few -m "not slow and not soak" src tests docs README.md

# Tests by the thousand of what `make test` asks a share of, then both oracles of tests/privacy over
# 20,000 generated questions, SOAK="--minutes 10" for less; then a server killed 500 times under load.
soak: $(VENV)/.dev
	@$(TESTS) -m soak tests
	@cd tests && ../$(BIN)/python -m soak --summary soak/SUMMARY.md $(SOAK)
	@cd tests && ../$(BIN)/python -m server.killing --kills 500 --summary server/KILLS.md

# Every client that is known to ask San, over the wire; writes docs/clients.md. What Debian packages is installed where
# this user may; a client that cannot be had is skipped, with the reason.
clients: $(VENV)/.clients
	@SANQL_CLIENTS=write $(BIN)/python -m pytest -rs -m clients tests/clients

$(VENV)/.clients: $(VENV)/.dev requirements-clients.txt
	@$(PIP) --require-hashes -r requirements-clients.txt
	@$(call debian,default-jdk-headless libpostgresql-jdbc-java unixodbc odbc-postgresql \
	  r-base-core r-cran-rpostgresql,clients that need them)
	@touch $@

# The engine on a cluster, in sessions of Spark on this machine: a Java runtime is installed where this user may.
spark: $(VENV)/.spark
	@SANQL_SPARK=write $(BIN)/python -m pytest -rs -m "spark and not soak" tests/spark

# A share of them in one session, for `.ci/run`. Where Spark cannot be had in time they are skipped, and it says so.
spark-few: $(VENV)/.dev
	@if timeout $(SPARK_SECONDS) $(MAKE) --no-print-directory $(VENV)/.spark; then \
	  $(BIN)/python -m pytest -rs -m "spark and few and not soak" tests/spark; \
	else \
	  echo "SPARK COULD NOT BE SET UP ($(SPARK_SECONDS) SECONDS AT MOST): ITS TESTS ARE SKIPPED; make spark says why"; \
	fi
SPARK_SECONDS := 120

# Every question of the fixtures, TPC-H and 1,000 generated ones on two executors, of which one is killed in every tenth;
# then a hundred kills of whatever there is to be killed. Hours, in as many runs as one likes: what the records beside the
# pages have is not done again. Remove them to begin anew.
soak-spark: $(VENV)/.spark
	@cd tests && PYTHONPATH=.. ../$(BIN)/python -m spark.comparing --minutes 600 --record spark/cells.jsonl --summary spark/CELLS.md
	@cd tests && ../$(BIN)/python -m spark.killing --kills 100 --seconds 36000 --record spark/kills.jsonl --summary spark/KILLS.md

$(VENV)/.spark: $(VENV)/.dev requirements-spark.txt
	@echo "setting up Spark (once): 450 MB are downloaded"
	@$(PIP) --require-hashes -r requirements-spark.txt
	@$(call debian,openjdk-17-jre-headless,tests on Spark)
	@touch $@

plots: $(VENV)/.dev
	@$(BIN)/python -c "import matplotlib" && echo "pictures can be drawn: matplotlib is installed"

# The documentation as a site that needs no network, in build/site; its notebooks are run first.
docs: $(VENV)/.docs
	@$(BIN)/python -m project.notebooks
	@$(BIN)/python -m project.site

$(VENV)/.docs: $(VENV)/.dev requirements-docs.txt
	@$(PIP) --require-hashes -r requirements-docs.txt
	@touch $@

bench: $(VENV)/.dev
	@$(BIN)/python -m bench

# Wheel, sdist, bill of materials and their sums, from the last commit, built twice and compared; no network.
dist: $(VENV)/.dev
	@$(BIN)/python -m project.dist

# All of them but Spark, which has requirements of its own.
EXTRAS := server client postgres delta pandas polars plots accounting smartnoise
requirements: $(VENV)/.dev
	$(PIP) uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --extra server pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --group dev $(addprefix --extra ,$(EXTRAS)) pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --group clients pyproject.toml -c requirements-dev.txt -o requirements-clients.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --group spark pyproject.toml -c requirements-dev.txt -o requirements-spark.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --group docs pyproject.toml -c requirements-dev.txt -o requirements-docs.txt
	@echo "then: $(BIN)/python -m project.third_party"

# The editor of the web pages, bundled from pinned sources; only whoever changes it needs Node.
STATIC := src/sanql/server/web/static
web:
	cd web && npm ci --no-audit --no-fund
	cd web && npx esbuild editor.js --bundle --minify --format=iife --target=es2022 --legal-comments=none \
	  --banner:js="/* CodeMirror, Lezer and others, MIT: see editor.txt beside this file */" --outfile=../$(STATIC)/editor.js
	cd web && for each in node_modules/@codemirror/* node_modules/@lezer/* node_modules/@marijn/* node_modules/crelt \
	  node_modules/style-mod node_modules/w3c-keyname; do echo "== $$each" | sed s,node_modules/,,; cat $$each/LICENSE; echo; done > ../$(STATIC)/editor.txt

clean:
	rm -rf $(VENV) build dist

$(VENV)/.run: requirements.txt pyproject.toml
	@echo "setting up $(VENV) (once): about $$(grep -c == requirements.txt) packages are downloaded, which takes a minute or more"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements.txt
	@echo "$(CURDIR)/src" > "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')/sanql.pth"
	@printf '#!/bin/sh\nexec "%s/python" -m sanql "$$@"\n' "$(CURDIR)/$(BIN)" > $(BIN)/sanql && chmod +x $(BIN)/sanql
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	@echo "setting up the test tools (once): about $$(grep -c == requirements-dev.txt) packages are looked at, which takes a minute or more"
	@$(PIP) --require-hashes -r requirements-dev.txt
	@$(call debian,chromium postgresql-client,tests with a browser and psql)
	@touch $@
