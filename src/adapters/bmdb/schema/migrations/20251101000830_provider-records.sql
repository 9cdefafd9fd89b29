-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What drivers keep at vendors that have no field for tags: whose a device is, and how far a change of
-- it has come. A daemon that does not know this table has no driver that needs it.

CREATE TABLE provider_records (
  provider text NOT NULL,
  key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
  value json NOT NULL CHECK (octet_length(value::text) <= 16384),
  version text NOT NULL,
  PRIMARY KEY (provider, key)
);
COMMENT ON TABLE provider_records IS 'Marks and memory of drivers, by configured provider. Stays when the provider is no longer configured: what it tells of is still at the vendor.';
COMMENT ON COLUMN provider_records.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_records.key IS 'Chosen by the driver.';
COMMENT ON COLUMN provider_records.value IS 'The driver''s own; nobody else looks into it.';
COMMENT ON COLUMN provider_records.version IS 'New with each write, chosen by who writes: a change names the one that it read, and is refused when that is not the row''s any more.';

-- Down Migration

DROP TABLE provider_records;
