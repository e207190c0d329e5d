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
    piece INTEGER NOT NULL,
    pieces INTEGER NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (tenant, model, seq, piece)
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
CREATE INDEX replies_by_age ON replies (tenant, model, at);

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
    prediction TEXT NOT NULL,
    PRIMARY KEY (tenant, model, ticket)
);
CREATE INDEX questions_by_status ON questions (tenant, model, status, ticket);
CREATE INDEX questions_by_event ON questions (tenant, model, event);
CREATE INDEX questions_by_end ON questions (tenant, model, closed_at);
-- The queue of people, in its order.
CREATE INDEX questions_waiting ON questions (tenant, model, ticket)
    WHERE status IN ('open', 'settled');

CREATE TABLE leases (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    person TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant, model, ticket, person)
);

-- What people and applications say to questions; a correction is the owner's, and keeps what was
-- said and what the model was told.
CREATE TABLE answers (
    tenant TEXT NOT NULL,
    model TEXT NOT NULL,
    ticket BIGINT NOT NULL,
    person TEXT NOT NULL,
    label TEXT,
    status TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    due DOUBLE PRECISION NOT NULL,
    learned TEXT,
    corrected TEXT,
    corrected_by TEXT,
    corrected_at DOUBLE PRECISION,
    PRIMARY KEY (tenant, model, ticket, person)
);
CREATE INDEX answers_by_due ON answers (status, due);
CREATE INDEX answers_by_person ON answers (tenant, model, person, at);
CREATE INDEX answers_by_time ON answers (tenant, model, at, ticket, person);

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
