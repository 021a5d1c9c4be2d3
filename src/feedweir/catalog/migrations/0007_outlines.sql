-- The outline that feeds were imported in, as OPML: folders, their order and all that other programs wrote there.
CREATE TABLE outline (
    name {text} PRIMARY KEY,
    document {text} NOT NULL
);
