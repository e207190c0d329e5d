"""The OpenAPI 3.1 document, from the table of routes and the bodies."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

import lasec
from lasec.service import bodies
from lasec.service.errors import TITLES

PACKED = "application/octet-stream"
Schema = dict[str, Any]  # of JSON
Schemas = dict[Any, Schema]  # by the type of a body


class Route(NamedTuple):
    """One thing that can be done, who may do it, and what goes in and out."""

    method: str
    path: str
    handler: Callable[..., Awaitable[object]]
    summary: str
    roles: tuple[str, ...]
    body: Any = None
    reply: Any = None
    packed: bool = False
    query: Any = None
    unserved: bool = False
    """Whether there need be no such model."""


class ProblemBody(msgspec.Struct):
    """Why a request was refused, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str


def document(routes: Sequence[Route]) -> Schema:
    """The whole document.

    >>> from lasec.service.app import ROUTES
    >>> sorted(document(ROUTES)["paths"]["/v1/models"])
    ['get', 'post']
    """
    kinds = [k for route in routes for k in (route.body, route.reply) if k not in (None, bytes)]
    kinds = [*dict.fromkeys(kinds), ProblemBody]
    found, parts = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas = dict(zip(kinds, found, strict=True))
    paths: Schema = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "lasec serve", "version": lasec.__version__},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, schemas: Schemas) -> Schema:
    """One thing that can be done."""
    names = re.findall(r"{(\w+)}", route.path)
    made: Schema = {
        "summary": route.summary,
        "operationId": route.handler.__name__,
        "parameters": [*(_parameter(name) for name in names), *_query(route.query)],
        "responses": _responses(route, schemas),
    }
    if route.roles:
        made |= {"security": [{"key": []}], "description": f"Roles: {', '.join(route.roles)}."}
    if route.body is not None:
        made["requestBody"] = {"required": True, "content": _content(route, schemas)}
    if route.body in (bodies.AskBody, bodies.TellBody, bodies.LearnBody, bodies.CancelBody):
        made["parameters"].append(
            {
                "name": "Idempotency-Key", "in": "header", "required": False,
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            }
        )  # fmt: skip
    return made


def _parameter(name: str) -> Schema:
    kind = {"model": bodies.ModelName, "name": bodies.KeyName, "event": bodies.Text}[name]
    return {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(kind)}


def _query(kind: Any) -> list[Schema]:
    """The parameters behind the question mark."""
    if kind is None:
        return []
    _, parts = msgspec.json.schema_components([kind])
    found = parts[kind.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in found.items()
    ]


def _content(route: Route, schemas: Schemas) -> Schema:
    packed = {PACKED: {"schema": {"type": "string", "format": "binary"}}}
    if route.body is bytes:
        return packed
    made = {"application/json": {"schema": schemas[route.body]}}
    return made | packed if route.packed else made


def _responses(route: Route, schemas: Schemas) -> Schema:
    reply: Schema = {"description": "Done"}
    if route.reply not in (None, bytes):
        reply["content"] = {"application/json": {"schema": schemas[route.reply]}}
    problem = {"application/problem+json": {"schema": schemas[ProblemBody]}}
    refused = (400, 401, 403, 404, 409, 410, 413, 422, 429, 503)
    return {
        "204" if route.reply is None and route.roles else "200": reply,
        **{str(status): {"description": TITLES[status], "content": problem} for status in refused},
    }
