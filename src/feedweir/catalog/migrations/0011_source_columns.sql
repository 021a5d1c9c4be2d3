-- What is known of a source, each fact in a column of its own. `conversions.py` fills them from `refresh`.
ALTER TABLE source ADD COLUMN validated_url {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN body_hash {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN not_before BIGINT;
ALTER TABLE source ADD COLUMN failure {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN is_unreadable BIGINT NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN page {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN hosts {text} NOT NULL DEFAULT '[]';
ALTER TABLE source ADD COLUMN pushed_until BIGINT;
ALTER TABLE source ADD COLUMN pushed_since BIGINT;
ALTER TABLE source ADD COLUMN every_s DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN id_path {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN ttl_s BIGINT NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN skip_hours {text} NOT NULL DEFAULT '[]';
ALTER TABLE source ADD COLUMN skip_days {text} NOT NULL DEFAULT '[]';
ALTER TABLE source ADD COLUMN history {text} NOT NULL DEFAULT '{{}}';
ALTER TABLE source ADD COLUMN hub {text} NOT NULL DEFAULT '';
ALTER TABLE source ADD COLUMN lease {text} NOT NULL DEFAULT '{{}}';
ALTER TABLE source ADD COLUMN imported_from {text} NOT NULL DEFAULT '[]';
