"""``POST /v1/episodes``: recorded runs in, one JSON object a line. A permission of its own."""

from __future__ import annotations

import io
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import WithJsonSchema

from read_api.auth import Ingesting
from read_api.errors import Unprocessable
from read_api.schemas import IngestAnswer, Name, Space
from read_api.site import SiteDep
from tasks.ingest.importers.registry import AUTO, importers
from tasks.ingest.step import ingest_records

router = APIRouter()

Format = Annotated[Name, WithJsonSchema({"type": "string", "enum": [AUTO, *importers()]})]
"""A format's name. That it is unknown is said by what takes episodes in, with those that are meant perhaps."""
LINES = {"application/x-ndjson": {"schema": {"type": "string", "minLength": 1, "pattern": r"\S"}}}


async def whole_body(request: Request) -> bytes:
    """The body, already limited in size; read on the loop, since the endpoint runs off it."""
    return await request.body()


@router.post("/v1/episodes", openapi_extra={"requestBody": {"required": True, "content": LINES}})
def episodes(
    namespace: Space,
    who: Ingesting,
    site: SiteDep,
    body: Annotated[bytes, Depends(whole_body)],
    format: Format = AUTO,
) -> IngestAnswer:
    """Take episodes. Sending the same again changes nothing; a bad record is refused with its line, the rest is kept.

    Unless an administrator sends them, an outcome without a source counts as self-reported.
    """
    who.enter(namespace)
    if not body.strip():
        raise Unprocessable("the body is empty", "body", "send one episode a line, as JSON")
    try:
        report = ingest_records(
            site.ingest,
            io.BytesIO(body),
            namespace,
            importer=format,
            principal=f"token:{who.token_id}",
            principal_capped=who.role != "admin",
            now=site.clock(),
            secret=site.secret,
        )
    except ValueError as problem:
        raise Unprocessable(str(problem), "format or namespace", "correct it and send again") from None
    return IngestAnswer.model_validate(report.as_dict())
