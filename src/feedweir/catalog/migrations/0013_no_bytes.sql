-- Nobody reads this any more.
ALTER TABLE feed_statistics DROP COLUMN bytes;
