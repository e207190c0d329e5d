"""Columns in one of the few types that are read here."""

from __future__ import annotations

import pyarrow as pa

from lasec.errors import TableError


def typed(batch: pa.RecordBatch, schema: pa.Schema | None, texts: frozenset[str]) -> pa.RecordBatch:
    """The batch with numbers as floats, categories and ``texts`` as text; or as ``schema`` says.

    >>> batch = pa.RecordBatch.from_pylist([{"price": 1, "postcode": 1050}])
    >>> typed(batch, None, frozenset({"postcode"})).to_pylist()
    [{'price': 1.0, 'postcode': '1050'}]
    """
    if schema is None:
        schema = pa.schema([field.with_type(_wanted(field, texts)) for field in batch.schema])
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            columns.append(batch.column(index).cast(field.type, safe=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(f"column {field.name!r}: {error}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_times(texts: pa.Array) -> pa.Array | None:
    """Texts as times, with or without a zone; None if they are none.

    >>> as_times(pa.array(["2026-01-01T00:00:01Z"])).type
    TimestampType(timestamp[us, tz=UTC])
    """
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _wanted(field: pa.Field, texts: frozenset[str]) -> pa.DataType:
    """The type a column is read in."""
    kind = field.type
    if field.name in texts:
        return pa.string()
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if number or pa.types.is_boolean(kind):
        return pa.float64()
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        return pa.float64()
    if pa.types.is_dictionary(kind) or _is_text(kind) or pa.types.is_null(kind):
        return pa.string()
    return kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
