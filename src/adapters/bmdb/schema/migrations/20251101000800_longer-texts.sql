-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Providers may tell texts of up to 255 characters; only the length in the catalogue changes, no row.
ALTER TABLE machine_provided
  ALTER COLUMN provider_ip_address TYPE varchar(255),
  ALTER COLUMN provider_location TYPE varchar(255);

-- Down Migration

ALTER TABLE machine_provided
  ALTER COLUMN provider_ip_address TYPE varchar(128),
  ALTER COLUMN provider_location TYPE varchar(128);
