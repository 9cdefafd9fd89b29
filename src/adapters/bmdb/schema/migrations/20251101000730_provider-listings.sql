-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Which providers cannot be listed, so that whoever asks no provider can say so. A row is written
-- when a listing fails for the first time or for another reason, and deleted by the next success.

CREATE TABLE provider_listings (
  provider text NOT NULL,
  session_id uuid NOT NULL,
  failing_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(failing_since)),
  cause text NOT NULL,
  PRIMARY KEY (provider, session_id)
);
COMMENT ON TABLE provider_listings IS 'Providers that a daemon cannot list now; no row: it can.';
COMMENT ON COLUMN provider_listings.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_listings.session_id IS 'The daemon that finds so. No reference: what a session found that is dead since tells its successor since when.';
COMMENT ON COLUMN provider_listings.failing_since IS 'First of the unbroken failures, also of daemons before this one.';
COMMENT ON COLUMN provider_listings.cause IS 'Why the last listing failed.';

-- Down Migration

DROP TABLE provider_listings;
