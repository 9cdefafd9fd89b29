-- Up Migration
-- Runs beside: 0.1.0 and later.

-- How far each webhook was told of events, and which deliveries failed. What was delivered leaves no row.

CREATE TABLE webhooks (
  name text PRIMARY KEY CHECK (char_length(name) BETWEEN 1 AND 64),
  told_to bigint NOT NULL,
  delivered_at timestamptz CHECK (isfinite(delivered_at)),
  disabled_at timestamptz CHECK (isfinite(disabled_at)),
  disabled_reason text
);
COMMENT ON TABLE webhooks IS 'Webhooks of the configuration that were delivered to, or will be. Written by the daemon that has the lease webhook/<name>.';
COMMENT ON COLUMN webhooks.name IS 'Its name in the configuration.';
COMMENT ON COLUMN webhooks.told_to IS 'Events up to this number were delivered, have a row in webhook_deliveries, or are not wanted.';
COMMENT ON COLUMN webhooks.delivered_at IS 'The last success; null: none yet.';
COMMENT ON COLUMN webhooks.disabled_at IS 'It answered that it is gone: nothing is sent until somebody enables it.';
COMMENT ON COLUMN webhooks.disabled_reason IS 'Why it is disabled.';

CREATE TABLE webhook_deliveries (
  webhook text NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  attempts bigint NOT NULL CHECK (attempts >= 0),
  first_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(first_at)),
  last_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_at)),
  next_at timestamptz CHECK (isfinite(next_at)),
  status bigint,
  cause text NOT NULL,
  PRIMARY KEY (webhook, seq)
);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (webhook, next_at, seq)
  WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_dead_idx ON webhook_deliveries (last_at, webhook, seq)
  WHERE next_at IS NULL;
COMMENT ON TABLE webhook_deliveries IS 'Deliveries that failed: tried again, or dead letters, which are kept for 30 days.';
COMMENT ON COLUMN webhook_deliveries.webhook IS 'The webhook; it may not be configured any more.';
COMMENT ON COLUMN webhook_deliveries.seq IS 'Number of the event, in slot_events or fleet_events.';
COMMENT ON COLUMN webhook_deliveries.type IS 'Type of the event.';
COMMENT ON COLUMN webhook_deliveries.attempts IS 'How often it was tried since it was filed or replayed.';
COMMENT ON COLUMN webhook_deliveries.first_at IS 'The first failure.';
COMMENT ON COLUMN webhook_deliveries.last_at IS 'The last failure.';
COMMENT ON COLUMN webhook_deliveries.next_at IS 'It is tried again then; null: it is a dead letter.';
COMMENT ON COLUMN webhook_deliveries.status IS 'HTTP status of the last answer; null: there was none.';
COMMENT ON COLUMN webhook_deliveries.cause IS 'What was wrong the last time.';

-- Down Migration

DROP TABLE webhook_deliveries, webhooks;
