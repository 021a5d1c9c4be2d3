-- What this installation signs with; made once, the same for every process that opens the catalog.
CREATE TABLE secret (
    name {text} PRIMARY KEY,
    value {text} NOT NULL
);
