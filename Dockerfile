# One image for every service; the command says which one runs.
FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/slowwave
WORKDIR /src
# Dependencies first: this layer stays as long as pyproject.toml does.
COPY pyproject.toml README.md LICENSE ./
RUN mkdir worker tasks storage review_ui read_api worlds \
    && touch worker/__init__.py tasks/__init__.py storage/__init__.py \
        review_ui/__init__.py read_api/__init__.py worlds/__init__.py \
    && /opt/slowwave/bin/pip install ".[postgres]" \
    && /opt/slowwave/bin/pip uninstall --yes slowwave
COPY . .
# The client too: `slowwave drill` reads as agents do. What it needs is there already.
RUN /opt/slowwave/bin/pip install --no-deps . ./client

FROM python:3.11-slim-bookworm
ENV PATH=/opt/slowwave/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SLOWWAVE_LOG_FORMAT=json
RUN useradd --system --uid 10001 --home-dir /var/lib/slowwave --create-home --shell /usr/sbin/nologin slowwave
COPY --from=build /opt/slowwave /opt/slowwave
USER 10001
WORKDIR /var/lib/slowwave
CMD ["slowwave", "--help"]
