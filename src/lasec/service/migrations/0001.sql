-- Tenants, keys, models, their journal, and the questions that people answer.
-- One text for SQLite and PostgreSQL: BLOB is BYTEA there. Every key begins with the tenant.

CREATE TABLE tenants (
    tenant TEXT PRIMARY KEY,
    made DOUBLE PRECISION NOT NULL
);

CREATE TABLE keys (
    digest TEXT PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (tenant),
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    made DOUBLE PRECISION NOT NULL,
    UNIQUE (tenant, name)
);

CREATE TABLE models (
    tenant TEXT NOT NULL REFERENCES tenants (tenant),
    model TEXT NOT NULL,
    settings TEXT NOT NULL,
    status TEXT NOT NULL,
    made DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model)
);

-- What a model was given, in order. The key is the fence: of two writers one fails here.
CREATE TABLE journal (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    seq BIGINT NOT NULL,
    body BLOB NOT NULL,
    said BLOB NOT NULL,
    PRIMARY KEY (tenant, model, seq)
);

CREATE TABLE snapshots (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (tenant, model, seq)
);

-- Replies that a retried request gets again.
CREATE TABLE replies (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    reply BLOB NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, name)
);
CREATE INDEX replies_by_age ON replies (at);

CREATE TABLE questions (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    event TEXT,
    item TEXT NOT NULL,
    propensity DOUBLE PRECISION NOT NULL,
    wanted INTEGER NOT NULL,
    asked_at DOUBLE PRECISION NOT NULL,
    status TEXT NOT NULL,
    closed_at DOUBLE PRECISION,
    PRIMARY KEY (tenant, model, ticket)
);
CREATE INDEX questions_by_status ON questions (tenant, model, status, ticket);
CREATE INDEX questions_by_event ON questions (tenant, model, event);

CREATE TABLE leases (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    person TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, ticket, person)
);

CREATE TABLE answers (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    person TEXT NOT NULL,
    label TEXT,
    status TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    due DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, ticket, person)
);
CREATE INDEX answers_by_due ON answers (status, due);

CREATE TABLE alarms (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    kind TEXT NOT NULL,
    alarm TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, ticket, kind)
);

-- The accuracy over time, for the owner's page.
CREATE TABLE points (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    seen BIGINT NOT NULL,
    asked BIGINT NOT NULL,
    value DOUBLE PRECISION,
    low DOUBLE PRECISION NOT NULL,
    high DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, at)
);
