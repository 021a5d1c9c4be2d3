-- Nobody reads these any more.
ALTER TABLE source DROP COLUMN refresh;
ALTER TABLE source DROP COLUMN last_checked_at;
